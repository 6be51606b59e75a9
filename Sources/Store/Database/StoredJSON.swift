/// SQL that looks into columns of type `json`.
package enum StoredJSON {
    /// What stands at a path such as `{audience,users}` of a column, as `json`; null if nothing does.
    ///
    /// Postgres's own operators refuse a whole document, whatever is asked for, if any text in it has the character
    /// U+0000. No request brings such a text, but one that was kept before those were refused must not stop what goes
    /// over many rows.
    package static func at(_ path: String, of column: String) -> String {
        // Behind a backslash that is escaped itself it is still an escape less, and valid.
        "(replace(\(column)::text, '\\u0000', '\\ufffd')::json #> '\(path)')"
    }

    /// The same as text, without quotes.
    package static func text(at path: String, of column: String) -> String {
        "(\(at(path, of: column)) #>> '{}')"
    }
}
