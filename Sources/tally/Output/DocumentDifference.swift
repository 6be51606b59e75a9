import JSON

/// One place in which two JSON documents differ.
struct DocumentDifference: Equatable {
    let place: JSONPointer
    /// Nil: it is added.
    let before: JSONValue?
    /// Nil: it is removed.
    let after: JSONValue?

    /// A line that begins like one of `diff`.
    var text: String {
        switch (before, after) {
        case (let before?, let after?): "~ \(place): \(before.text) → \(after.text)"
        case (nil, let after): "+ \(place): \(after?.text ?? "")"
        case (let before?, nil): "- \(place): \(before.text)"
        }
    }

    /// All places, in the order of the documents. Arrays differ as a whole.
    static func between(_ before: JSONValue, _ after: JSONValue, at place: JSONPointer = JSONPointer()) -> [Self] {
        guard before != after else { return [] }
        guard let old = before.object, let new = after.object else {
            return [Self(place: place, before: before, after: after)]
        }
        let gone = old.entries.filter { new[$0.key] == nil }
            .map { Self(place: place.appending($0.key), before: $0.value, after: nil) }
        return gone
            + new.entries.flatMap { key, value in
                let place = place.appending(key)
                guard let known = old[key] else { return [Self(place: place, before: nil, after: value)] }
                return between(known, value, at: place)
            }
    }
}
