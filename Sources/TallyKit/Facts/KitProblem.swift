/// Something that keeps Tally from knowing this phone. Log it: most are mistakes in the app or in its backend.
public struct KitProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong. New codes may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case ticketUnavailable = "ticket_unavailable"
            case ticketRefused = "ticket_refused"
            case activityUnknown = "activity_unknown"
            case reportRefused = "report_refused"
            case installationReplaced = "installation_replaced"
            case noAnswer = "no_answer"
            case stateLost = "state_lost"
        }

        private let kind: Kind
        /// The code as text.
        public var description: String { kind.rawValue }

        /// Your backend gave no ticket. TallyKit asks again later.
        public static let ticketUnavailable = Self(kind: .ticketUnavailable)
        /// Tally refused a fresh ticket, too. TallyKit asks again later.
        public static let ticketRefused = Self(kind: .ticketRefused)
        /// Tally does not know the activity of a card yet. TallyKit reports the card until it does.
        public static let activityUnknown = Self(kind: .activityUnknown)
        /// Tally refused a report, and `field` says which part of it. It is sent again at the next launch, or when it
        /// changes. Receipts are dropped.
        public static let reportRefused = Self(kind: .reportRefused)
        /// Another phone reports with this phone's id. TallyKit takes a new id and reports everything again.
        public static let installationReplaced = Self(kind: .installationReplaced)
        /// Tally cannot be reached, or is busy. TallyKit tries again.
        public static let noAnswer = Self(kind: .noAnswer)
        /// What TallyKit keeps cannot be read or written. It works on, and may forget what it has not reported.
        public static let stateLost = Self(kind: .stateLost)
    }

    /// What went wrong.
    public let code: Code
    /// The activity whose card it is about; nil if it is about the phone.
    public let activity: String?
    /// The status of Tally's answer; nil if there was none.
    public let status: Int?
    /// The field of the report that Tally refused.
    public let field: String?
    /// Tally's words, or the system's. They hold no token.
    public let detail: String?

    init(_ code: Code, activity: String? = nil, status: Int? = nil, field: String? = nil, detail: String? = nil) {
        self.code = code
        self.activity = activity
        self.status = status
        self.field = field
        self.detail = detail
    }

    /// The parts that are known, in one line.
    public var description: String {
        [
            code.description, activity.map { "activity \($0)" }, status.map { "status \($0)" },
            field.map { "field \($0)" },
            detail,
        ]
        .compactMap(\.self).joined(separator: ", ")
    }
}
