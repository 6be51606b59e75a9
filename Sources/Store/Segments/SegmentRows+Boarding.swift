extension SegmentRows {
    /// The last part of a statement that puts cards on their rings (`Boarding`): whoever looked at one of the rings before
    /// sees that it has riders now.
    ///
    /// - Parameter cards: A common table expression with `activity_key` and `segment` of the rings, which are locked.
    /// - Returns: The SQL.
    package static func boarding(of cards: String) -> String {
        """
        UPDATE segments AS g SET wakes = g.wakes + 1
        FROM (SELECT DISTINCT activity_key, segment FROM \(cards)) AS b
        WHERE g.activity_key = b.activity_key AND g.segment = b.segment
        """
    }
}
