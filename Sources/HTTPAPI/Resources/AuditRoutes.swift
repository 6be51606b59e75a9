import APITypes
import ActivityModel
import HTTPTypes
import Registry
import ReportTypes

extension Route {
    /// `/v1/audit`: operator actions. A bound key reads those on its app.
    static func audit(_ record: any RecordService) -> [Route] {
        [
            Route(
                .get,
                "/v1/audit",
                .scope(.operate),
                query: paging.union(["bundle_id", "action", "key_id", "since", "until"])
            ) { call in
                let filter = AuditFilter(
                    app: try call.parameter("bundle_id", .bundleID),
                    action: try call.word("action"),
                    keyID: try call.parameter("key_id", .storable),
                    since: try call.parameter("since", .time),
                    until: try call.parameter("until", .time)
                )
                let bound = call.principal?.app
                if let bound, let named = filter.app, named != bound { throw Problem.appForbidden() }
                return .ok(try await record.audit(filter, call.page(), only: bound))
            }
        ]
    }
}
