extension JSONValue {
    /// The location of the first string with the character U+0000. For a key, it is the location of its object. `nil`
    /// if no string has one.
    package var placeOfNUL: JSONPointer? {
        switch self {
        case .null, .bool, .number: return nil
        case .string(let text): return text.utf8.contains(0) ? JSONPointer() : nil
        case .array(let items):
            for (index, item) in items.enumerated() {
                guard let place = item.placeOfNUL else { continue }
                return JSONPointer(tokens: [String(index)]).appending(contentsOf: place)
            }
            return nil
        case .object(let object):
            for (key, value) in object.entries {
                if key.utf8.contains(0) { return JSONPointer() }
                if let place = value.placeOfNUL { return JSONPointer(tokens: [key]).appending(contentsOf: place) }
            }
            return nil
        }
    }
}
