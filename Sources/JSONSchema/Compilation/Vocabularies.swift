internal import JSON

/// The vocabularies of 2020-12 in a dialect. Keywords of other vocabularies have no meaning in it.
struct Vocabularies: OptionSet, Sendable {
    let rawValue: UInt8

    static let core = Vocabularies(rawValue: 1 << 0)
    static let applicator = Vocabularies(rawValue: 1 << 1)
    static let unevaluated = Vocabularies(rawValue: 1 << 2)
    static let validation = Vocabularies(rawValue: 1 << 3)
    static let metaData = Vocabularies(rawValue: 1 << 4)
    static let formatAnnotation = Vocabularies(rawValue: 1 << 5)
    static let formatAssertion = Vocabularies(rawValue: 1 << 6)
    static let content = Vocabularies(rawValue: 1 << 7)

    /// The vocabularies of the standard dialect.
    static let standard: Vocabularies = [
        .core, .applicator, .unevaluated, .validation, .metaData, .formatAnnotation, .content,
    ]

    private static let prefix = "https://json-schema.org/draft/2020-12/vocab/"
    private static let names: [String: Vocabularies] = [
        "core": .core, "applicator": .applicator, "unevaluated": .unevaluated, "validation": .validation,
        "meta-data": .metaData, "format-annotation": .formatAnnotation, "format-assertion": .formatAssertion,
        "content": .content,
    ]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The vocabularies of a meta-schema's `$vocabulary`; `nil` if it has none or requires an unknown one.
    init?(metaSchema: JSONValue) {
        guard let listed = metaSchema["$vocabulary"]?.object else { return nil }
        self = .core
        for (uri, isRequired) in listed.entries {
            if uri.hasPrefix(Self.prefix), let vocabulary = Self.names[String(uri.dropFirst(Self.prefix.count))] {
                insert(vocabulary)
            } else if isRequired.bool != false {
                return nil
            }
        }
    }
}
