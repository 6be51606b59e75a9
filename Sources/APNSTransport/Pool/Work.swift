internal import HTTP2Engine
internal import Reactor

/// A batch, or a single request, on its way. Belongs to the transport's loop.
final class Work {
    /// How many pushes lie between two whose latency is measured.
    private static let sampleDistance = 128

    let head: RequestHead
    let providerToken: ProviderToken
    /// nil for a single request, whose path is complete.
    let tokens: TokenBuffer?
    let body: SharedBytes?
    let deadline: ContinuousClock.Instant
    /// Whether the caller wants to know of each push what Apple calls it and how long its answer took.
    private let wantsReceipts: Bool
    private let completion: (Work) -> Void

    var ledger: BatchLedger
    /// Where the pool keeps it, and how often the place was used before: the upper half of its pushes' tags.
    var place: UInt32 = 0
    var deadlineTimer: TimerID?
    /// Nothing more of it is to leave.
    var isWithdrawn = false
    /// Where the pool has it in its list of those that have something to send.
    var readyPlace: Int?
    /// The answer to a single request, if one came.
    private(set) var response: HTTP2Response?
    private var receipts: [BatchOutcome.Receipt] = []
    /// When measured pushes left.
    private var departures: [Int: ContinuousClock.Instant] = [:]
    /// How long measured pushes waited for their answers.
    private(set) var latencies: [Duration] = []

    private var layOut: (token: ProviderToken, headers: SharedHeaders)?

    init(
        head: RequestHead,
        providerToken: ProviderToken,
        tokens: TokenBuffer?,
        body: [UInt8]?,
        deadline: ContinuousClock.Instant,
        wantsReceipts: Bool = false,
        completion: @escaping (Work) -> Void
    ) {
        self.head = head
        self.providerToken = providerToken
        self.tokens = tokens
        self.body = body.map { SharedBytes($0) }
        self.deadline = deadline
        self.wantsReceipts = wantsReceipts
        self.completion = completion
        ledger = BatchLedger(count: tokens?.count ?? 1)
    }

    /// What the request at `index` adds to the common path.
    func pathSuffix(_ index: Int) -> ArraySlice<UInt8> {
        tokens.map { $0[index] } ?? []
    }

    /// The header fields of its requests; looked for once for each provider token.
    func headers(_ token: ProviderToken, from recent: inout RecentHeaders) throws(HTTP2Error) -> SharedHeaders {
        if let layOut, layOut.token == token { return layOut.headers }
        let headers = try recent.headers(head, token)
        layOut = (token, headers)
        return headers
    }

    /// A push has left; notes the time of every 128th, or of all if that is wanted.
    func departed(_ index: Int, _ flight: BatchLedger.Flight, now: ContinuousClock.Instant) {
        ledger.sent(index, flight)
        if isMeasured(index) {
            departures[index] = now
        }
    }

    /// An answer to a push came. How long it took, for every 128th.
    func arrived(_ index: Int, _ response: HTTP2Response) -> Duration? {
        if tokens == nil {
            self.response = response
        }
        guard isMeasured(index), let departure = departures.removeValue(forKey: index) else {
            return nil
        }
        let latency = departure.duration(to: .now)
        if wantsReceipts {
            keepReceipt(index, response, latency)
        }
        guard index.isMultiple(of: Self.sampleDistance) else {
            return nil
        }
        latencies.append(latency)
        return latency
    }

    private func isMeasured(_ index: Int) -> Bool {
        wantsReceipts || index.isMultiple(of: Self.sampleDistance)
    }

    /// The push was accepted; its names are kept where somebody may ask for them.
    func accepted(_ index: Int, _ response: HTTP2Response) {
        guard ledger.accept(index), !wantsReceipts else {
            return
        }
        if ledger.count == 1 || response.fields.uniqueID != nil {
            keepReceipt(index, response, nil)
        }
    }

    private func keepReceipt(_ index: Int, _ response: HTTP2Response, _ latency: Duration?) {
        receipts.append(
            BatchOutcome.Receipt(
                index: index,
                apnsID: response.fields.apnsID,
                uniqueID: response.fields.uniqueID,
                latency: latency
            )
        )
    }

    /// What became of all pushes; to be asked once the ledger is complete.
    var outcome: BatchOutcome {
        BatchOutcome(accepted: ledger.accepted, exceptions: ledger.exceptions, receipts: receipts)
    }

    /// Tells the caller. To be called once, when the ledger is complete.
    func complete() {
        completion(self)
    }
}
