import APITypes
import HTTPTypes
import Testing

/// A row of the contract's table of routes: what it takes, what it demands, where it leads.
struct RouteCase: CustomTestStringConvertible, Sendable {
    enum Demand: Sendable {
        case scope(Scope)
        case unboundAdmin
    }

    let method: HTTPRequest.Method
    let path: String
    let demand: Demand
    let body: String?
    /// What the service is asked.
    let call: String

    init(_ method: HTTPRequest.Method, _ path: String, _ demand: Demand, body: String? = nil, _ call: String) {
        self.method = method
        self.path = path
        self.demand = demand
        self.body = body
        self.call = call
    }

    var testDescription: String { "\(method) \(path)" }

    static let uuid = "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11"

    /// Every route that calls the service, written from the contract.
    static let all: [RouteCase] = apps + audit + types + devices + activities + channelsAndSchedules + events

    private static let mine = "/v1/apps/com.example.mine"

    private static let apps: [RouteCase] = [
        .init(.put, mine, .unboundAdmin, body: Bodies.app, "putApp com.example.mine"),
        .init(
            .patch,
            mine,
            .unboundAdmin,
            body: #"{"channel_pool":null}"#,
            #"patchApp com.example.mine {"channel_pool":0}"#
        ),
        .init(.get, "/v1/apps", .scope(.read), "apps 100 - only -"),
        .init(.get, mine, .scope(.read), "app com.example.mine"),
        .init(.delete, mine + "?confirm=com.example.mine", .unboundAdmin, "deleteApp com.example.mine"),
        .init(.get, mine + "/halts?limit=7", .scope(.read), "halts com.example.mine 7 -"),
        .init(.delete, mine + "/halts/production", .scope(.operate), "liftHalt com.example.mine production"),
        .init(
            .delete,
            mine + "/halts/production?leave_rejected=true",
            .scope(.operate),
            "liftHalt com.example.mine production leaving"
        ),
        .init(.post, "/v1/doctor", .scope(.operate), body: Bodies.doctor, "examine - all"),
        .init(.post, "/v1/api-keys", .scope(.admin), body: Bodies.apiKey, "createAPIKey backend"),
        .init(.get, "/v1/api-keys", .scope(.admin), "apiKeys 100 - only -"),
        .init(.delete, "/v1/api-keys/\(uuid)", .scope(.admin), "revokeAPIKey \(uuid) only -"),
    ]

    private static let audit: [RouteCase] = [
        .init(.get, "/v1/audit", .scope(.operate), "audit - - - 100 - only -"),
        .init(
            .get,
            "/v1/audit?bundle_id=com.example.mine&action=app_changed&key_id=k&since=2022-12-18T15:00:00Z&limit=7",
            .scope(.operate),
            "audit com.example.mine app_changed k 7 - only -"
        ),
    ]

    private static let types: [RouteCase] = [
        .init(.put, mine + "/types/Game", .scope(.operate), body: Bodies.type, "putType com.example.mine Game"),
        .init(
            .put,
            mine + "/types/Game?force=true",
            .scope(.operate),
            body: Bodies.type,
            "putType com.example.mine Game force"
        ),
        .init(
            .patch,
            mine + "/types/Game",
            .scope(.operate),
            body: #"{"policy":{"rules":[],"start_alert":null}}"#,
            #"patchType com.example.mine Game {"policy":{"rules":[],"start_alert":null}}"#
        ),
        .init(.get, mine + "/types", .scope(.read), "types com.example.mine 100 -"),
        .init(.get, mine + "/types/Game", .scope(.read), "type com.example.mine Game"),
        .init(.get, mine + "/types/Game/versions", .scope(.read), "typeVersions com.example.mine Game 100 -"),
        .init(
            .put,
            mine + "/types/Game/versions/2",
            .scope(.operate),
            body: #"{"retired":true}"#,
            "putTypeVersion com.example.mine Game 2 true"
        ),
        .init(
            .post,
            mine + "/types/Game/validate",
            .scope(.read),
            body: Bodies.validation,
            "validate com.example.mine Game"
        ),
    ]

    private static let devices: [RouteCase] = [
        .init(.put, mine + "/devices/d1", .scope(.register), body: Bodies.device, "putDevice com.example.mine d1"),
        .init(
            .post,
            mine + "/devices/d1/receipts",
            .scope(.register),
            body: #"{"receipts":[{"activity_id":"a1","revision":3,"age_milliseconds":250}]}"#,
            "takeReceipts com.example.mine d1 a1 3 250"
        ),
        .init(.get, mine + "/devices?limit=7", .scope(.read), "devices com.example.mine - - 7 -"),
        .init(.get, mine + "/devices?user_id=u1&cursor=abc", .scope(.read), "devices com.example.mine u1 - 100 abc"),
        .init(.get, mine + "/devices?token=8F3A", .scope(.read), "devices com.example.mine - 8f3a 100 -"),
        .init(.get, mine + "/devices/d1", .scope(.read), "device com.example.mine d1"),
        .init(.delete, mine + "/devices/d1", .scope(.register), "deleteDevice com.example.mine d1"),
        .init(.get, mine + "/users/u1", .scope(.read), "user com.example.mine u1"),
        .init(.get, mine + "/users/u1/export?cursor=c", .scope(.read), "exportUser com.example.mine u1 c"),
        .init(.delete, mine + "/users/u1", .scope(.register), "eraseUser com.example.mine u1"),
        .init(.get, mine + "/topics?limit=7", .scope(.read), "topics com.example.mine 7 -"),
        .init(.get, mine + "/users/u1/topics", .scope(.read), "topics com.example.mine user u1"),
        .init(
            .put,
            mine + "/users/u1/topics",
            .scope(.register),
            body: #"{"topics": ["team:ajax"]}"#,
            #"putTopics com.example.mine user u1 {"topics":["team:ajax"]}"#
        ),
        .init(.get, mine + "/devices/d1/topics", .scope(.read), "topics com.example.mine device d1"),
        .init(
            .put,
            mine + "/devices/d1/topics",
            .scope(.register),
            body: #"{"add": ["a"], "remove": ["b"]}"#,
            #"putTopics com.example.mine device d1 {"add":["a"],"remove":["b"]}"#
        ),
        .init(
            .post,
            mine + "/registration-tickets",
            .scope(.register),
            body: #"{"environment":"production","device_id":"d1","ttl_seconds":60}"#,
            "createTicket com.example.mine d1"
        ),
        .init(
            .post,
            mine + "/registration-tickets/batch",
            .scope(.register),
            body: #"{"tickets":[{"environment":"production","device_id":"d1","ttl_seconds":60}]}"#,
            "createTickets com.example.mine 1"
        ),
        .init(
            .post,
            mine + "/ticket-keys",
            .scope(.admin),
            body: #"{"algorithm":"ES256"}"#,
            "createTicketKey com.example.mine ES256"
        ),
        .init(.get, mine + "/ticket-keys?limit=7", .scope(.admin), "ticketKeys com.example.mine 7 -"),
        .init(
            .delete,
            mine + "/ticket-keys/\(uuid)",
            .scope(.admin),
            "revokeTicketKey com.example.mine \(uuid) 0"
        ),
        .init(
            .delete,
            mine + "/ticket-keys/\(uuid)?after_seconds=7776000",
            .scope(.admin),
            "revokeTicketKey com.example.mine \(uuid) 7776000"
        ),
        .init(
            .put,
            mine + "/webhooks/w1",
            .scope(.admin),
            body: #"{"url":"https://hooks.example.com"}"#,
            "putWebhook com.example.mine w1 https://hooks.example.com"
        ),
        .init(.get, mine + "/webhooks?limit=7", .scope(.admin), "webhooks com.example.mine 7 -"),
        .init(.get, mine + "/webhooks/w1", .scope(.admin), "webhook com.example.mine w1"),
        .init(.delete, mine + "/webhooks/w1", .scope(.admin), "deleteWebhook com.example.mine w1"),
        .init(
            .post,
            mine + "/webhooks/w1/replay",
            .scope(.admin),
            body: #"{"since":"2022-12-18T15:00:00Z"}"#,
            "replayWebhook com.example.mine w1 2022-12-18T15:00:00Z"
        ),
        .init(
            .put,
            mine + "/users/u1/tickets",
            .scope(.register),
            body: #"{"revoked_before":"2022-12-18T15:00:00Z"}"#,
            "revokeTickets com.example.mine user(u1) 2022-12-18T15:00:00Z"
        ),
        .init(
            .put,
            mine + "/devices/d1/tickets",
            .scope(.register),
            body: #"{"revoked_before":"2022-12-18T15:00:00Z"}"#,
            "revokeTickets com.example.mine device(d1) 2022-12-18T15:00:00Z"
        ),
        .init(
            .put,
            mine + "/activities/a1/subscriptions/d1",
            .scope(.register),
            body: Bodies.subscription,
            "subscribe com.example.mine a1 d1"
        ),
        .init(
            .delete,
            mine + "/activities/a1/subscriptions/d1",
            .scope(.register),
            "unsubscribe com.example.mine a1 d1"
        ),
        .init(.get, mine + "/activities/a1/subscriptions", .scope(.read), "subscriptions com.example.mine a1 - 100 -"),
        .init(
            .get,
            mine + "/activities/a1/subscriptions?state=waiting_for_token&limit=7&cursor=abc",
            .scope(.read),
            "subscriptions com.example.mine a1 waiting_for_token 7 abc"
        ),
    ]

    private static let activities: [RouteCase] = [
        .init(.put, mine + "/activities/a1", .scope(.publish), body: Bodies.start, "start com.example.mine a1"),
        .init(
            .post,
            mine + "/activities/a1/updates",
            .scope(.publish),
            body: Bodies.update,
            "update com.example.mine a1"
        ),
        .init(.post, mine + "/activities/a1/end", .scope(.publish), body: Bodies.empty, "end com.example.mine a1"),
        .init(
            .put,
            mine + "/activities/a1?dry_run=true",
            .scope(.publish),
            body: Bodies.start,
            "dryRunStart com.example.mine a1"
        ),
        .init(
            .post,
            mine + "/activities/a1/updates?dry_run=true",
            .scope(.publish),
            body: Bodies.update,
            "dryRunUpdate com.example.mine a1"
        ),
        .init(
            .post,
            mine + "/activities/a1/end?dry_run=true",
            .scope(.publish),
            body: Bodies.empty,
            "dryRunEnd com.example.mine a1"
        ),
        .init(
            .post,
            mine + "/activities/a1/audience",
            .scope(.publish),
            body: Bodies.audience,
            "changeAudience com.example.mine a1"
        ),
        .init(
            .get,
            mine + "/activities/a1/audience?limit=7&cursor=abc",
            .scope(.read),
            "audience com.example.mine a1 7 abc"
        ),
        .init(
            .get,
            mine + "/activities?device_id=d1&id_contains=fin",
            .scope(.read),
            "activities com.example.mine - - d1 - fin 100 -"
        ),
        .init(.get, mine + "/activities", .scope(.read), "activities com.example.mine - - - - - 100 -"),
        .init(
            .get,
            mine + "/activities?user_id=u1",
            .scope(.read),
            "activities com.example.mine - - - u1 - 100 -"
        ),
        .init(
            .get,
            mine + "/activities?type=Game&state=live&limit=1000&cursor=abc",
            .scope(.read),
            "activities com.example.mine Game live - - - 1000 abc"
        ),
        .init(.get, mine + "/activities/a1", .scope(.read), "activity com.example.mine a1"),
        .init(
            .get,
            mine + "/activities/a1/timeline?user_id=u1",
            .scope(.read),
            "timeline com.example.mine a1 - u1 100 -"
        ),
        .init(.get, mine + "/activities/a1/timeline", .scope(.read), "timeline com.example.mine a1 - - 100 -"),
        .init(
            .get,
            mine + "/activities/a1/timeline?device_id=d1&limit=7&cursor=abc",
            .scope(.read),
            "timeline com.example.mine a1 d1 - 7 abc"
        ),
    ]

    private static let events: [RouteCase] = [
        .init(.get, "/v1/events", .scope(.read), "eventPlace -")
    ]

    private static let channelsAndSchedules: [RouteCase] = [
        .init(
            .post,
            mine + "/pushes",
            .scope(.publish),
            body: #"{"to":{"device_id":"d1"},"push_type":"alert","aps":{"alert":"Goal"}}"#,
            "push com.example.mine alert"
        ),
        .init(.post, mine + "/channels", .scope(.operate), body: Bodies.empty, "createChannel com.example.mine"),
        .init(
            .post,
            mine + "/channels/reconcile",
            .scope(.operate),
            body: #"{"dry_run":true}"#,
            "reconcileChannels com.example.mine true"
        ),
        .init(.get, mine + "/channels", .scope(.read), "channels com.example.mine 100 -"),
        .init(.get, mine + "/channels/\(uuid)", .scope(.read), "channel com.example.mine \(uuid)"),
        .init(.delete, mine + "/channels/\(uuid)", .scope(.operate), "deleteChannel com.example.mine \(uuid)"),
        .init(.get, mine + "/schedules", .scope(.read), "schedules com.example.mine - 100 -"),
        .init(.get, mine + "/schedules?state=pending", .scope(.read), "schedules com.example.mine pending 100 -"),
        .init(.get, mine + "/schedules/\(uuid)", .scope(.read), "schedule com.example.mine \(uuid)"),
        .init(.delete, mine + "/schedules/\(uuid)", .scope(.operate), "cancelSchedule com.example.mine \(uuid)"),
        .init(.post, mine + "/schedules/\(uuid)/run", .scope(.operate), "runSchedule com.example.mine \(uuid)"),
    ]
}
