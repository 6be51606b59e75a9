import JSON
import JSONSchema
import SwiftContent
import SwiftSchemaImport

/// What Tally refuses on purpose although the decoder of this toolchain takes it. The same list stands in
/// docs/reference/schemas.md.
enum Strictness: String, CaseIterable {
    case unixTime = "a Date that reads as UNIX time"
    case integerSpelling = "an integer beyond 2^53 with a point or an exponent, or with a fraction too small to count"
    case tinyNumber = "a number nearer to 0 than its type holds"
    case decimalDigits = "a Decimal of more than 38 digits or with an exponent beyond 60"
    case uuidSpelling = "a UUID in another form than 8-4-4-4-12"
    case urlSpelling = "a URL outside RFC 3986"
    case base64Padding = "base64 with padding that is not canonical"
    case keySpelling = "an unknown key that could be taken for a known one"
    case keyTwice = "a key of a dictionary that is there twice, in different code points"
    case rawText = "a raw value of an enum in other code points"
    case rawNumber = "a raw value of an enum that equals one only after rounding"
    case intKey = "an Int key in another spelling than its own, or of 19 digits"
    case caseKey = "a key of an enum in another spelling than its own"
    case rangeLength = "a range with more than its bounds"
    case rangeOrder = "bounds that are in order only after rounding"
    case pairCount = "a list of pairs with a key given twice"
    case emptyStruct = "something else than an object for a struct without properties"

    /// Why a finding of ours may stand against the decoder; nil: it may not.
    ///
    /// Of keys that are the same for Swift's String the decoder reads the first, so what is wrong behind another one is
    /// nothing to it.
    init?(_ finding: ContentFinding, of content: JSONValue) {
        if Self.hasKeyTwice(content, on: finding.instance) {
            self = .keyTwice
            return
        }
        switch finding.swiftType {
        case _ where finding.message.contains("UNIX"): self = .unixTime
        case _ where finding.message.contains("without a point"): self = .integerSpelling
        case _ where finding.message.contains("nearer to 0"): self = .tinyNumber
        case "Decimal": self = .decimalDigits
        case let type where type.contains("Range<"): self = .rangeOrder
        default: return nil
        }
    }

    /// Why a violation of a schema document may stand against the decoder; nil: it may not.
    init?(_ violation: Violation, of content: JSONValue, schema: JSONValue) {
        let place = JSONPointer(tokens: Array(violation.schema.tokens.dropLast()))
        let node = schema[place]?.object ?? [:]
        let swiftType = node["x-swift-type"]?.string
        let rawType = node["x-swift-raw-type"]?.string
        if Self.hasKeyTwice(content, on: violation.instance) {
            self = .keyTwice
            return
        }
        let isFraction = content[violation.instance]?.number?.isInteger == false
        switch (violation.keyword, swiftType) {
        case ("pattern", "UUID"?): self = .uuidSpelling
        case ("pattern", "URL"?): self = .urlSpelling
        case ("pattern", "Data"?): self = .base64Padding
        case ("propertyNames", _) where node["additionalProperties"] == nil: self = .keySpelling
        case ("required", _), ("oneOf", _):
            // It is there for Swift's String, in other code points.
            let names =
                node["required"]?.array ?? (node["oneOf"]?.array ?? []).flatMap { $0.object?["required"]?.array ?? [] }
            guard let present = content[violation.instance]?.object, !present.isEmpty,
                names.compactMap(\.string).contains(where: { present[$0] == nil && present.keys.contains($0) })
            else { return nil }
            self = .keySpelling
        case ("propertyNames", nil): self = .intKey
        case ("additionalProperties", nil): self = .caseKey
        case ("maxItems", let type?) where type.contains("Range"): self = .rangeLength
        case ("anyOf", "Dictionary"?): self = .pairCount
        case ("anyOf", let type?) where type.hasSuffix("?"):
            let target = Self.firstAlternative(of: node, in: schema)
            if target["type"] == "integer", isFraction {
                self = target["x-swift-raw-type"] == nil ? .integerSpelling : .rawNumber
            } else if target["x-swift-raw-type"] == "String", Self.isListed(content[violation.instance], in: target) {
                self = .rawText
            } else if target["type"] == "object", target["properties"] == nil {
                self = .emptyStruct
            } else {
                return nil
            }
        case ("enum", _) where Self.isListed(content[violation.instance], in: node): self = .rawText
        case ("enum", _) where rawType != nil && rawType != "String": self = .rawNumber
        case ("type", let type?) where type.contains("Int") && isFraction: self = .integerSpelling
        case ("type", _) where rawType != nil && isFraction: self = .rawNumber
        case ("type", _?) where node["type"] == "object" && node["properties"] == nil: self = .emptyStruct
        default: return nil
        }
    }

    /// Whether an object on the way to a place has two keys that are the same for Swift's String.
    private static func hasKeyTwice(_ content: JSONValue, on place: JSONPointer) -> Bool {
        place.tokens.indices.contains { count in
            let keys = content[JSONPointer(tokens: Array(place.tokens[..<count]))]?.object?.keys ?? []
            return keys.count { $0 == place.tokens[count] } > 1
        }
    }

    /// Whether a text is one of the raw values for Swift's String.
    private static func isListed(_ value: JSONValue?, in node: JSONObject) -> Bool {
        (node["enum"]?.array ?? []).compactMap(\.string).contains { $0 == value?.string }
    }

    /// The definition that the first alternative refers to.
    private static func firstAlternative(of node: JSONObject, in schema: JSONValue) -> JSONObject {
        let reference = node["anyOf"]?.array?.first?.object?["$ref"]?.string
        guard let place = reference.flatMap({ JSONPointer(String($0.dropFirst())) }) else { return [:] }
        return schema[place]?.object ?? [:]
    }
}
