internal import JSON

extension SchemaRule {
    /// Whether it depends on what the other rules have evaluated.
    var readsMarks: Bool {
        switch self {
        case .unevaluatedItems, .unevaluatedProperties: true
        default: false
        }
    }
}

extension Validator {
    /// Whether a value satisfies one rule of a schema.
    mutating func check(_ value: JSONValue, _ rule: SchemaRule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .types(let types):
            return types.holds(value) || refuse(undecodable: id, "type", Phrasing.isNot(value, types))
        case .enumeration(let index):
            let enumeration = program.tables.enumerations[index]
            effort -= enumeration.effort(for: value)
            guard effort > 0 else { return false }
            if program.contains(value, in: enumeration) { return true }
            let values = program.tables.constants[enumeration.values]
            return refuse(undecodable: id, "enum", "\(Phrasing.of(value)) is not one of \(Phrasing.list(values))")
        case .constant(let index):
            let constant = program.tables.constants[index]
            effort -= value.fullWeight + constant.fullWeight
            guard effort > 0 else { return false }
            return value == constant
                || refuse(undecodable: id, "const", "\(Phrasing.of(value)) is not \(Phrasing.of(constant))")
        case .reference, .dynamicReference, .allOf, .anyOf, .oneOf, .not, .conditional:
            return checkCombination(value, rule, id)
        case .minimum, .exclusiveMinimum, .maximum, .exclusiveMaximum, .multipleOf:
            guard case .number(let number) = value else { return true }
            return checkNumber(number, rule, id)
        case .minLength, .maxLength, .pattern, .format:
            guard case .string(let text) = value else { return true }
            return checkText(text, rule, id)
        case .minItems, .maxItems, .uniqueItems, .prefixItems, .items, .contains, .unevaluatedItems:
            guard case .array(let items) = value else { return true }
            return checkArray(items, rule, id)
        case .minProperties, .maxProperties, .required, .dependentRequired, .dependentSchemas, .propertyNames, .members,
            .unevaluatedProperties:
            guard case .object(let object) = value else { return true }
            return checkObject(object, value, rule, id)
        }
    }

    private mutating func checkNumber(_ number: JSONNumber, _ rule: SchemaRule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        // Calls a method of the table element, because copying the limit costs more than the comparison.
        case .minimum(let index):
            guard program.tables.bounds[index].isAbove(number) else { return true }
            let limit = program.tables.bounds[index].digits
            return refuse(undecodable: id, "minimum", "\(Phrasing.of(number)) is less than \(limit)")
        case .exclusiveMinimum(let index):
            if program.tables.bounds[index].isBelow(number) { return true }
            let limit = program.tables.bounds[index].digits
            return refuse(id, "exclusiveMinimum", "\(Phrasing.of(number)) is not more than \(limit)")
        case .maximum(let index):
            guard program.tables.bounds[index].isBelow(number) else { return true }
            let limit = program.tables.bounds[index].digits
            return refuse(undecodable: id, "maximum", "\(Phrasing.of(number)) is more than \(limit)")
        case .exclusiveMaximum(let index):
            if program.tables.bounds[index].isAbove(number) { return true }
            let limit = program.tables.bounds[index].digits
            return refuse(id, "exclusiveMaximum", "\(Phrasing.of(number)) is not less than \(limit)")
        case .multipleOf(let index):
            let divisor = program.tables.divisors[index]
            effort -= divisor.effort(for: number)
            return divisor.divides(number)
                || refuse(id, "multipleOf", "\(Phrasing.of(number)) is not a multiple of \(divisor.digits)")
        default:
            return true
        }
    }

    private mutating func checkText(_ text: String, _ rule: SchemaRule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .minLength(let limit):
            // A text has at most as many characters as bytes, and at least a quarter as many.
            if text.utf8.count / 4 >= limit { return true }
            let length = text.unicodeScalars.count
            return length >= limit
                || refuse(id, "minLength", "\(Phrasing.count(length, "character")), at least \(limit) expected")
        case .maxLength(let limit):
            if text.utf8.count <= limit { return true }
            let length = text.unicodeScalars.count
            return length <= limit
                || refuse(id, "maxLength", "\(Phrasing.count(length, "character")), at most \(limit) expected")
        case .pattern(let index):
            let pattern = program.tables.patterns[index].text
            return finds(index, in: text)
                || refuse(id, "pattern", "\(Phrasing.of(.string(text))) does not match \(Phrasing.quote(pattern))")
        case .format(let format):
            effort -= text.utf8.count
            return format.holds(text) || refuse(id, "format", "\(Phrasing.of(.string(text))) is not \(format.phrase)")
        default:
            return true
        }
    }
}
