package import APITypes
package import ActivityModel
package import Postgres

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
