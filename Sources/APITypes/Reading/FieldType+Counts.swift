import JSON

extension FieldType where Value == [String: Int] {
    static var counts: Self {
        of("An object of whole numbers") { value in
            guard let object = value.object else { return nil }
            var counts: [String: Int] = [:]
            for (key, value) in object.entries {
                guard let count = value.int64.flatMap(Int.init(exactly:)) else { return nil }
                counts[key] = count
            }
            return counts
        } write: { counts in
            let fields = counts.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.number(JSONNumber($0.value))) }
            return .object(JSONObject(fields))
        }
    }
}
