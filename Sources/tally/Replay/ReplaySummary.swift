import APITypes
import ActivityModel
import JSON
import MatchReplay

/// The results of a replay, printed at its end.
struct ReplaySummary: Presentable, Equatable {
    private struct Total: Equatable {
        var activityID: ActivityID
        var posts = 0
        var revision: Revision = 0
    }

    private var totals: [Total]

    init(_ activities: [ActivityID]) {
        totals = activities.map { Total(activityID: $0) }
    }

    mutating func add(_ entry: ReplayPlayer.Entry) {
        guard let index = totals.firstIndex(where: { $0.activityID == entry.activityID }) else { return }
        totals[index].posts += 1
        totals[index].revision = max(totals[index].revision, entry.acceptance.revision)
    }

    var text: String {
        let columns: [Table.Column] = [
            .init(title: "ACTIVITY"), .init(title: "POSTS", isNumber: true), .init(title: "REVISION", isNumber: true),
        ]
        let rows = totals.map { [$0.activityID.rawValue, String($0.posts), String($0.revision)] }
        return Table(columns: columns, rows: rows).text
    }

    var json: JSONValue {
        let activities = totals.map { total in
            var fields = ObjectWriter()
            fields.add("activity_id", total.activityID.rawValue)
            fields.add("posts", total.posts)
            fields.add("revision", total.revision)
            return fields.json
        }
        return ["activities": .array(activities)]
    }
}
