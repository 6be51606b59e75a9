import APITypes
import JSON

/// The alert of a form: a title and a text.
enum AlertForm {
    /// The alert; nil if the form names none.
    ///
    /// - Throws: 422 for a text without a title, which would be lost.
    static func alert(_ form: FormFields) throws(Problem) -> JSONValue? {
        let body = form["alert_body"]
        guard let title = form["alert_title"] else {
            guard body == nil else {
                throw .invalidRequest("'Alert title' is missing. An alert with an 'Alert text' needs a title.")
            }
            return nil
        }
        return ["title": .string(title), "body": .string(body ?? "")]
    }
}
