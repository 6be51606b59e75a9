package import ActivityModel
package import Postgres

/// SQL about the start tokens that devices have reported. A device has at most one for a type.
///
/// `device` and `type` are SQL expressions: the key of a device, and the name of a type.
package enum StartTokenState {
    private static let live = "t.state = 'live'"

    /// The condition that a device can be sent starts of a type: it has a live token.
    package static func isLive(device: String, type: String) -> String {
        exists(device, Query(unescaped: type), " AND \(live)").sql
    }

    /// ``isLive(device:type:)`` for a type that is known.
    package static func isLive(device: String, of type: ActivityTypeName) -> Query {
        exists(device, "\(type.rawValue)", " AND \(live)")
    }

    /// The condition that a device can be sent starts of a type now or later: it has a token that is not dead. The end of
    /// a halt revives rejected ones. A token may be rejected before the halt that makes it a suspect.
    package static func mayLive(device: String, type: String) -> String {
        exists(device, Query(unescaped: type), " AND t.state <> 'dead'").sql
    }

    /// The condition that an audience of all devices of a type reaches a device: it has reported a token, in whatever state
    /// that is.
    package static func isReported(device: String, type: String) -> String {
        exists(device, Query(unescaped: type)).sql
    }

    /// ``isReported(device:type:)`` for a type that is known.
    package static func isReported(device: String, of type: ActivityTypeName) -> Query {
        exists(device, "\(type.rawValue)")
    }

    /// A table with the column `token`: the live token of a device for a type, if there is one. It belongs behind LATERAL.
    package static func liveToken(device: String, type: String) -> String {
        """
        (SELECT t.token FROM start_tokens AS t
         WHERE t.device_key = \(device) AND t.type_name = \(type) AND \(live) OFFSET 0)
        """
    }

    private static func exists(_ device: String, _ type: Query, _ condition: String = "") -> Query {
        """
        EXISTS (SELECT FROM start_tokens AS t
                WHERE t.device_key = \(unescaped: device) AND t.type_name = \(part: type)\(unescaped: condition) OFFSET 0)
        """
    }
}
