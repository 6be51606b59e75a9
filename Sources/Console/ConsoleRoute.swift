import APITypes

/// A page and its forms.
struct ConsoleRoute: Sendable {
    typealias Handler = @Sendable (Visit) async throws -> ConsoleAnswer

    let path: String
    /// The scope for looking.
    let needs: Scope
    /// The scope for sending the page's form.
    let needsToChange: Scope
    let get: Handler?
    let post: Handler?
    /// Whether those who may see the same get one rendering of its live parts.
    let sharesRenewals: Bool

    init(
        _ path: String,
        needs: Scope = .read,
        toChange: Scope = .admin,
        get: Handler? = nil,
        post: Handler? = nil,
        sharesRenewals: Bool = true
    ) {
        self.path = path
        self.needs = needs
        needsToChange = toChange
        self.get = get
        self.post = post
        self.sharesRenewals = sharesRenewals
    }

    static func at(_ path: String) -> ConsoleRoute? { byPath[path] }

    static let all: [ConsoleRoute] = [
        ConsoleRoute("/console", get: NowPage.show),
        ConsoleRoute("/console/find", get: FindPage.show),
        ConsoleRoute("/console/activities", get: ActivitiesPage.show),
        ConsoleRoute("/console/activity", get: MatchRoom.show),
        ConsoleRoute(
            "/console/activity/change",
            needs: .publish,
            toChange: .publish,
            get: ChangePage.show,
            post: ChangePage.take
        ),
        ConsoleRoute(
            "/console/activity/audience",
            needs: .publish,
            toChange: .publish,
            get: MembersPage.show,
            post: MembersPage.take
        ),
        ConsoleRoute(
            "/console/activity/end",
            needs: .publish,
            toChange: .publish,
            get: EndPage.show,
            post: EndPage.take
        ),
        ConsoleRoute("/console/phones", get: PhonesPage.show),
        ConsoleRoute("/console/phone", get: PhonePage.show),
        ConsoleRoute("/console/channels", toChange: .operate, get: ChannelsPage.show, post: ChannelsPage.reconcile),
        ConsoleRoute("/console/channel", get: ChannelPage.show),
        ConsoleRoute("/console/types", get: TypesPage.show),
        ConsoleRoute("/console/type", toChange: .read, get: TypePage.show, post: TypePage.check),
        ConsoleRoute(
            "/console/type/policy",
            needs: .operate,
            toChange: .operate,
            get: PolicyPage.show,
            post: PolicyPage.take
        ),
        ConsoleRoute("/console/schedules", toChange: .operate, get: SchedulesPage.show, post: SchedulesPage.take),
        ConsoleRoute("/console/schedule", get: SchedulePage.show),
        ConsoleRoute("/console/events", get: EventsPage.show),
        ConsoleRoute("/console/events/stream", get: EventsPage.stream, sharesRenewals: false),
        ConsoleRoute("/console/halts", toChange: .operate, get: HaltsPage.show, post: HaltsPage.resume),
        ConsoleRoute("/console/halt", get: HaltPage.show),
        ConsoleRoute(
            "/console/api-keys",
            needs: .admin,
            toChange: .admin,
            get: APIKeysPage.show,
            post: APIKeysPage.take
        ),
        ConsoleRoute("/console/audit", needs: .operate, get: AuditPage.show),
        ConsoleRoute("/console/doctor", needs: .operate, get: DoctorPage.show),
    ]

    private static let byPath = Dictionary(uniqueKeysWithValues: all.map { ($0.path, $0) })
}
