internal import JSON

extension Validator {
    /// Whether a value satisfies one rule of a node.
    mutating func check(_ value: JSONValue, _ rule: SchemaNode.Rule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .types(let types):
            return types.holds(value) || refuse(id, "type", Phrasing.isNot(value, types))
        case .enumeration(let values):
            return values.contains(value)
                || refuse(id, "enum", "\(Phrasing.of(value)) is not one of \(Phrasing.list(values))")
        case .constant(let constant):
            return value == constant || refuse(id, "const", "\(Phrasing.of(value)) is not \(Phrasing.of(constant))")
        case .reference(let target):
            return check(value, target)
        case .allOf, .anyOf, .oneOf, .not, .conditional:
            return checkCombination(value, rule, id)
        case .minimum, .exclusiveMinimum, .maximum, .exclusiveMaximum, .multipleOf:
            guard case .number(let number) = value else { return true }
            return checkNumber(number, rule, id)
        case .minLength, .maxLength:
            guard case .string(let text) = value else { return true }
            return checkText(text, rule, id)
        case .minItems, .maxItems, .uniqueItems, .prefixItems, .items, .contains:
            guard case .array(let items) = value else { return true }
            return checkArray(items, rule, id)
        case .minProperties, .maxProperties, .required, .dependentRequired, .dependentSchemas, .propertyNames, .members:
            guard case .object(let object) = value else { return true }
            return checkObject(object, rule, id)
        }
    }

    private mutating func checkNumber(_ number: JSONNumber, _ rule: SchemaNode.Rule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .minimum(let limit):
            return number >= limit || refuse(id, "minimum", "\(Phrasing.of(number)) is less than \(limit.digits)")
        case .exclusiveMinimum(let limit):
            return number > limit
                || refuse(id, "exclusiveMinimum", "\(Phrasing.of(number)) is not more than \(limit.digits)")
        case .maximum(let limit):
            return number <= limit || refuse(id, "maximum", "\(Phrasing.of(number)) is more than \(limit.digits)")
        case .exclusiveMaximum(let limit):
            return number < limit
                || refuse(id, "exclusiveMaximum", "\(Phrasing.of(number)) is not less than \(limit.digits)")
        case .multipleOf(let divisor):
            return divisor.divides(number)
                || refuse(id, "multipleOf", "\(Phrasing.of(number)) is not a multiple of \(divisor.digits)")
        default:
            return true
        }
    }

    private mutating func checkText(_ text: String, _ rule: SchemaNode.Rule, _ id: SchemaNode.ID) -> Bool {
        let length = text.unicodeScalars.count
        switch rule {
        case .minLength(let limit):
            return length >= limit
                || refuse(id, "minLength", "\(Phrasing.count(length, "character")), at least \(limit) expected")
        case .maxLength(let limit):
            return length <= limit
                || refuse(id, "maxLength", "\(Phrasing.count(length, "character")), at most \(limit) expected")
        default:
            return true
        }
    }
}
