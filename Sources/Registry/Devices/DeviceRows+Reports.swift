package import APITypes
package import ActivityModel
package import Postgres
import Store

/// A report of a card may name a device that is not registered, or bring news of one that is.
extension DeviceRows {
    /// A device that a report of a card makes.
    package struct Reported {
        let name: DeviceName
        let environment: APNSEnvironment
        let request: SubscriptionRequest

        package init(name: DeviceName, environment: APNSEnvironment, request: SubscriptionRequest) {
            self.name = name
            self.environment = environment
            self.request = request
        }
    }

    /// What a report of a card finds of its device.
    package struct Found: Sendable {
        /// The place of the report.
        package let place: Int
        package let deviceKey: Int64
        package let environment: APNSEnvironment
        /// Whether the report names another version of iOS or of the app than the stored one.
        package let isNewer: Bool
        /// Whether the report is not of the current installation (``Installations``).
        package let isStale: Bool
        /// Whether the report brings another installation than the stored one, unless it is stale.
        package let isNew: Bool

        /// Reads a row of ``finding(_:)``.
        package init(_ row: Row) throws {
            place = try row["place"]
            deviceKey = try row["device_key"]
            environment = try .stored(row["environment"])
            isNewer = try row["is_newer"]
            isStale = try row["is_stale"]
            isNew = try row["is_new"]
        }
    }

    /// The statement that finds and locks the devices of reports, in the order of their keys, for ``Found``. It has no
    /// row for a device that is not registered.
    package static func finding(_ reports: [(device: DeviceName, request: SubscriptionRequest)]) -> Query {
        """
        SELECT r.place - 1 AS place, d.device_key, d.environment::text,
               coalesce(r.os_version, d.os_version) IS DISTINCT FROM d.os_version
               OR coalesce(r.app_version, d.app_version) IS DISTINCT FROM d.app_version AS is_newer,
               \(unescaped: Installations.isStale("r.installation", hasGeneration: "r.has_generation"))
                   AS is_stale,
               \(unescaped: Installations.isNew("r.installation")) AS is_new
        FROM (
            SELECT r.*, k.device_key
            FROM unnest(
                \(reports.map(\.device.app.rawValue)), \(reports.map(\.device.id.rawValue)),
                \(reports.map { $0.request.osVersion?.description }),
                \(reports.map { $0.request.appVersion?.description }), \(reports.map(\.request.installation)),
                \(reports.map { $0.request.generation != nil })
            ) WITH ORDINALITY
                AS r(bundle_id, device_id, os_version, app_version, installation, has_generation, place)
            \(unescaped: named(by: "r"))
        ) AS r
        \(unescaped: held(by: "r"))
        """
    }

    /// The statement that makes devices, in the order in which they are given. It returns `bundle_id`, `device_id` and
    /// `device_key`, also of one that somebody else has made meanwhile: that one stays as it is.
    package static func insertion(_ devices: [Reported]) -> Query {
        """
        INSERT INTO devices (bundle_id, device_id, environment, os_version, app_version, installation)
        SELECT r.bundle_id, r.device_id, r.environment::apns_environment, r.os_version, r.app_version, r.installation
        FROM unnest(
            \(devices.map(\.name.app.rawValue)), \(devices.map(\.name.id.rawValue)),
            \(devices.map(\.environment.rawValue)),
            \(devices.map { $0.request.osVersion?.description }), \(devices.map { $0.request.appVersion?.description }),
            \(devices.map(\.request.installation))
        ) AS r(bundle_id, device_id, environment, os_version, app_version, installation)
        ON CONFLICT (bundle_id, device_id) DO UPDATE SET updated_at = now()
        RETURNING bundle_id, device_id, device_key
        """
    }

    /// The keys of devices, in rows of `bundle_id`, `device_id` and `device_key`.
    package static func keys(_ rows: Rows) throws -> [DeviceName: Int64] {
        var keys: [DeviceName: Int64] = [:]
        for (app, id, key) in try rows.decoded(as: (String, String, Int64).self) {
            keys[DeviceName(app: BundleID(stored: app), id: DeviceID(stored: id))] = key
        }
        return keys
    }

    /// The statement that stores the versions and the installation that a report of a card names. A value that the
    /// report leaves out stays.
    package static func renewal(of deviceKey: Int64, by request: SubscriptionRequest) -> Query {
        """
        UPDATE devices AS d SET os_version = coalesce(\(request.osVersion?.description), os_version),
            app_version = coalesce(\(request.appVersion?.description), app_version),
            \(unescaped: Installations.assignments("r.installation"))
        FROM (SELECT \(request.installation)::text AS installation) AS r
        WHERE device_key = \(deviceKey)
        """
    }
}
