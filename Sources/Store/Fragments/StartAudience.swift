/// SQL about whom a start named, as its body is kept in `activities`. The audience itself is forgotten at the end.
package enum StartAudience {
    /// The ids, as `jsonb`, of the `users` or the `devices` that the start in a column has named; null if it named none.
    package static func named(_ members: String, in start: String) -> String {
        "\(StoredJSON.at("{audience,\(members)}", of: start))::jsonb"
    }
}
