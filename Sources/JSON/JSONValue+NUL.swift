extension JSONValue {
    /// Where the first text with the character U+0000 is: that text, or the object that has it in the name of a member.
    /// Nil if there is none.
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
