import ActivityModel
import Cards
package import Postgres

/// Tells installations of an app on one device apart, each with generations of its own (promise 7).
///
/// A new installation replaces the stored one, and its generations count from the beginning. A replaced installation
/// stays stale for good, because a late report of it could otherwise take over again. A generation without an
/// installation is stale too, once the device has one: nobody knows in which installation it counts.
package enum Installations {
    /// How many replaced installations are remembered. A report is seldom late by one reinstallation, and never by
    /// eight.
    private static let remembered = 8

    /// The condition that a report is not of the current installation of the device `d`.
    ///
    /// - Parameters:
    ///   - installation: The SQL of the reported installation.
    ///   - hasGeneration: The SQL of whether it gives a generation.
    /// - Returns: The SQL, in parentheses.
    package static func isStale(_ installation: String, hasGeneration: String) -> String {
        """
        (CASE WHEN \(installation) IS NULL THEN \(hasGeneration) AND d.installation IS NOT NULL
            ELSE \(installation) = ANY(d.earlier_installations) END)
        """
    }

    /// The condition that a report that is not stale brings another installation than the device `d` has.
    package static func isNew(_ installation: String) -> String {
        "(\(installation) IS NOT NULL AND \(installation) IS DISTINCT FROM d.installation)"
    }

    /// The assignments that a report that is not stale makes in the row `d`.
    package static func assignments(_ installation: String) -> String {
        """
        installation = coalesce(\(installation), d.installation),
        earlier_installations = CASE WHEN d.installation <> \(installation)
            THEN (array_prepend(d.installation, d.earlier_installations))[1:\(remembered)]
            ELSE d.earlier_installations END
        """
    }

    /// The statements that drop what belonged to the installation in the other environment.
    static func move(deviceKey: Int64, to environment: APNSEnvironment) -> [Query] {
        [
            "DELETE FROM start_tokens WHERE device_key = \(deviceKey)",
            SubscriptionRows.over(deviceKey: deviceKey, besides: environment),
            StartRows.cancel(deviceKey: deviceKey, besides: environment),
        ]
    }

    /// The statements that reset the generations of a device, so that they count from the beginning.
    package static func restart(deviceKey: Int64) -> [Query] {
        [
            "UPDATE start_tokens SET generation = 0 WHERE device_key = \(deviceKey) AND generation > 0",
            SubscriptionRows.resetGenerations(deviceKey: deviceKey),
        ]
    }
}
