package import APITypes
package import ActivityModel
import Postgres
import ReportTypes
import Store

extension Record {
    /// The story of an activity, or of one device's or one user's part in it, with a verdict. The newest entries come
    /// first. For a user the entries are those of all devices, and the verdict is on the activity.
    ///
    /// The verdict on an activity is read after the entries, so it may know a moment more. An unknown device or user is not
    /// refused: that it is unknown is the answer.
    ///
    /// - Throws: 404 for an unknown activity; 422 for a cursor of another list, and for a device and a user.
    package func timeline(
        _ app: BundleID,
        _ id: ActivityID,
        device: DeviceID?,
        user: UserID? = nil,
        _ page: PageRequest
    ) async throws -> TimelineAnswer {
        if device != nil, user != nil {
            throw Problem.invalidRequest("'device_id' and 'user_id' exclude each other.")
        }
        let (subject, budget, entries, story, channels, isUnknownUser) = try await database.withConnection {
            connection in
            let subject = try await TimelineSubject.read(app, id, device, on: connection)
            let budget = try await Self.budget(of: subject, on: connection)
            let devices = try await Self.devices(of: subject, user, on: connection)
            let entries = try await TimelineEntries(subject: subject, devices: devices, page: page).read(on: connection)
            let story = device == nil ? nil : try await DeviceStory.read(subject, on: connection)
            let channels = try await ChannelHistory.read(subject.activityKey, on: connection)
            return (subject, budget, entries, story, channels, user != nil && devices?.keys.isEmpty == true)
        }
        let verdict =
            if let story {
                DeviceVerdict.of(story)
            } else if isUnknownUser {
                Verdict("unknown_user", "No device of this user is registered for this app.")
            } else {
                ActivityVerdict.of(try await activity(app, id), isHalted: subject.activity.isHalted, channels: channels)
            }
        return TimelineAnswer(
            activityID: id,
            deviceID: device,
            state: subject.activity.state,
            revision: subject.activity.newest,
            verdict: verdict,
            budget: budget,
            page: entries
        )
    }

    /// The devices that a story is about; nil: all. Of a user's devices the first ``UserExport/limit``.
    private static func devices(
        of subject: TimelineSubject,
        _ user: UserID?,
        on connection: PostgresConnection
    ) async throws -> TimelineEntries.Devices? {
        if let id = subject.deviceID {
            return TimelineEntries.Devices(keys: subject.device.map { [$0.key] } ?? [], ids: [id.rawValue])
        }
        guard let user else { return nil }
        let rows = try await connection.query(
            """
            SELECT device_key, device_id FROM devices
            WHERE bundle_id = \(subject.app.rawValue) AND user_id = \(user.rawValue) LIMIT \(UserExport.limit)
            """
        )
        return try rows.decoded(as: (Int64, String).self).reduce(into: TimelineEntries.Devices()) { devices, row in
            devices.keys.append(row.0)
            devices.ids.append(row.1)
        }
    }

    /// What each class has spent within the window, counted on the ledger.
    private static func budget(
        of subject: TimelineSubject,
        on connection: PostgresConnection
    ) async throws -> [BudgetUse] {
        let budget = subject.policy.budget
        let rows = try await connection.query(
            """
            SELECT class::text, count(*) FILTER (WHERE priority = 10) FROM budget_ledger
            WHERE activity_key = \(subject.activityKey)
              AND decided_at > clock_timestamp() - \(Duration.seconds(budget.windowSeconds))
            GROUP BY budget_ledger.class ORDER BY budget_ledger.class
            """
        )
        return try rows.decoded(as: (String, Int64).self).map { name, spent in
            BudgetUse(
                budgetClass: name,
                spent: Int(spent),
                units: name == BudgetClass.frequent.rawValue ? budget.frequent : budget.ordinary,
                windowSeconds: budget.windowSeconds
            )
        }
    }
}
