/// SQL about the order in which readers get events: that of their transactions. Changes are events, too.
package enum EventVisibility {
    /// An SQL expression: the first transaction whose events readers do not get yet. It still runs, so others of its
    /// events, or of earlier ones, may still come.
    package static let bound = "pg_snapshot_xmin(pg_current_snapshot())"

    /// The condition that this server has not reached a transaction: its events came with a dump of another server.
    package static func isAhead(_ transaction: String) -> String {
        "\(transaction) >= pg_snapshot_xmax(pg_current_snapshot())"
    }
}
