internal import JSON

extension SchemaComparison {
    mutating func compareNull(_ before: SchemaShape, _ after: SchemaShape) {
        guard before.allowsNull != after.allowsNull else { return }
        let place = after.pointer
        if after.allowsNull {
            report(.typeWidened, place, "null is let in now; earlier versions refuse it")
        } else {
            report(.typeNarrowed, place, "null is no longer let in")
        }
    }

    /// - Returns: Whether the two have a type in common, so that the rest is worth comparing.
    mutating func compareTypes(_ before: SchemaShape, _ after: SchemaShape) -> Bool {
        let place = after.pointer
        let common = Self.common(before.types, after.types)
        guard !common.isEmpty || (before.types.isEmpty && after.types.isEmpty) else {
            report(.typeChanged, place, "it was \(Self.words(before.types)) and is \(Self.words(after.types)) now")
            return false
        }
        if common != before.types {
            let message = "it is only \(Self.words(after.types)) now; it was \(Self.words(before.types))"
            report(.typeNarrowed, place, message)
        }
        if common != after.types {
            let message =
                "it may be \(Self.words(after.types)) now; for earlier versions it is \(Self.words(before.types))"
            report(.typeWidened, place, message)
        }
        return compareDates(before, after)
    }

    /// Compares date encodings. The schema sees every date as a number; only its name shows how the phone decodes it.
    private mutating func compareDates(_ before: SchemaShape, _ after: SchemaShape) -> Bool {
        let names = (before.dateName, after.dateName)
        guard names.0 != names.1 else { return true }
        let message = "it was decoded as \(names.0 ?? "no date") and is decoded as \(names.1 ?? "no date") now"
        report(.typeChanged, after.pointer, message)
        return false
    }

    mutating func compareValues(_ before: SchemaShape, _ after: SchemaShape) {
        let keyword = after.keywords["const"] == nil ? "enum" : "const"
        let place = after.values == nil ? after.pointer : after.pointer.appending(keyword)
        switch (before.values, after.values) {
        case (nil, nil): break
        case (let old?, nil):
            report(.enumWidened, place, "any value is let in now; for earlier versions only \(Self.words(old))")
        case (nil, let new?):
            report(.enumNarrowed, place, "only \(Self.words(new)) is let in now; it was any value")
        case (let old?, let new?):
            let (oldValues, newValues) = (Set(old), Set(new))
            let gone = old.filter { !newValues.contains($0) }
            let added = new.filter { !oldValues.contains($0) }
            if !gone.isEmpty { report(.enumNarrowed, place, "\(Self.words(gone)) is no longer let in") }
            if !added.isEmpty {
                report(.enumWidened, place, "\(Self.words(added)) is let in now; earlier versions do not know it")
            }
        }
    }

    mutating func comparePatterns(_ before: SchemaShape, _ after: SchemaShape) {
        let place = after.pointer.appending("pattern")
        switch (before.keywords["pattern"]?.string, after.keywords["pattern"]?.string) {
        case (nil, nil): break
        case (_?, nil): report(.patternWidened, after.pointer, "any text is let in now; earlier versions want a form")
        case (nil, _?): report(.patternNarrowed, place, "only texts of a certain form are let in now; it was any")
        case (let old?, let new?):
            if old != new { report(.incomparable, place, "the form of the text is different and cannot be compared") }
        }
    }

    // MARK: Bounds

    mutating func compareBounds(_ before: SchemaShape, _ after: SchemaShape) {
        if before.types.contains(where: Self.numbers.contains), after.types.contains(where: Self.numbers.contains) {
            compareBounds(before, after, "minimum", .lower)
            compareBounds(before, after, "maximum", .upper)
        }
        for noun in ["Length", "Items", "Properties"] {
            compareBounds(before, after, "min" + noun, .lower)
            compareBounds(before, after, "max" + noun, .upper)
        }
    }

    private static let numbers: Set<String> = ["number", "integer"]

    private mutating func compareBounds(
        _ before: SchemaShape,
        _ after: SchemaShape,
        _ keyword: String,
        _ end: SchemaBound.End
    ) {
        let old = SchemaBound(keyword, end, in: before.keywords)
        let new = SchemaBound(keyword, end, in: after.keywords)
        guard old != new else { return }
        let place = new.map { after.pointer.appending($0.keyword) } ?? after.pointer
        let isNarrower =
            switch (old, new) {
            case (let old?, let new?): new.isTighter(than: old)
            case (nil, _): true
            case (_?, nil): false
            }
        let message =
            "\(new?.words ?? "there is no '\(keyword)'") now; before, \(old?.words ?? "there was no '\(keyword)'")"
        report(isNarrower ? .rangeNarrowed : .rangeWidened, place, message)
    }

    // MARK: Types

    /// The types that both allow. `integer` remains if one of them allows only integers.
    private static func common(_ left: Set<String>, _ right: Set<String>) -> Set<String> {
        var common = left.intersection(right)
        if left.union(right).isSuperset(of: ["number", "integer"]) { common.insert("integer") }
        return common
    }

    private static func words(_ values: [JSONValue]) -> String { Phrasing.list(values[...]) }

    private static func words(_ types: Set<String>) -> String {
        types.isEmpty ? "nothing" : types.sorted().joined(separator: " or ")
    }
}

extension SchemaShape {
    /// The name of the date encoding that a schema declares (`x-swift-type`).
    fileprivate var dateName: String? {
        guard let name = keywords["x-swift-type"]?.string, name == "Date" || name.hasPrefix("Date(") else { return nil }
        return name
    }
}

/// One bound of a range.
private struct SchemaBound: Equatable {
    enum End { case lower, upper }

    let keyword: String
    let value: JSONNumber
    let end: End
    let isExclusive: Bool

    /// The tighter bound, if a number has two.
    init?(_ keyword: String, _ end: End, in schema: JSONObject) {
        let exclusive = "exclusive" + keyword.prefix(1).uppercased() + keyword.dropFirst()
        let bounds = [(keyword, false), (exclusive, true)].compactMap { name, isExclusive in
            schema[name]?.number.map { SchemaBound(name, $0, end, isExclusive) }
        }
        guard let bound = bounds.max(by: { $1.isTighter(than: $0) }) else { return nil }
        self = bound
    }

    private init(_ keyword: String, _ value: JSONNumber, _ end: End, _ isExclusive: Bool) {
        (self.keyword, self.value, self.end, self.isExclusive) = (keyword, value, end, isExclusive)
    }

    func isTighter(than other: SchemaBound) -> Bool {
        if value == other.value { return isExclusive && !other.isExclusive }
        return end == .lower ? other.value < value : value < other.value
    }

    var words: String { "'\(keyword)' is \(Phrasing.of(value))" }
}
