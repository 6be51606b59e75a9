internal import JSON

/// Applies a compiled schema to one value.
///
/// It has two modes. *Probing* stops at the first violation and records nothing. *Collecting* finds all violations with
/// their locations. The cost is bounded, because some schemas would take time exponential in the depth of a value. A
/// value that exceeds the bound counts as invalid.
struct Validator {
    /// The maximum number of reported violations.
    static let maximumViolations = 100
    /// The maximum cost of one validation. A step of a pattern or of a long division costs 1.
    static let maximumEffort = 5_000_000
    /// The cost of applying one schema to one value.
    static let effortOfSchema = 5

    private enum Step {
        case member(String)
        case item(Int)
    }

    let program: SchemaProgram
    private(set) var isCollecting: Bool
    private var violations: [Violation] = []
    private var path: [Step] = []
    /// The remaining budget of this validation.
    var effort: Int
    /// The parts of the current value that have been evaluated, if an `unevaluated…` keyword of this value needs them.
    var evaluated: EvaluatedMarks?
    /// The resources on the path to the current schema; recorded only if there are dynamic references.
    private var scope: [Int] = []
    private var matcher = PatternMatcher()

    private init(_ program: SchemaProgram, isCollecting: Bool, effort: Int = maximumEffort) {
        self.program = program
        self.isCollecting = isCollecting
        self.effort = effort
    }

    static func isValid(_ value: JSONValue, _ program: SchemaProgram) -> Bool {
        var validator = Validator(program, isCollecting: false)
        return validator.check(value, 0) && validator.effort > 0
    }

    static func violations(
        of value: JSONValue,
        _ program: SchemaProgram,
        effort: Int = maximumEffort
    ) -> [Violation] {
        var validator = Validator(program, isCollecting: true, effort: effort)
        _ = validator.check(value, 0)
        guard validator.effort > 0 else {
            let message = "this value takes too much work to check against this schema"
            let (instance, schema) = (JSONPointer(), JSONPointer())
            return [Violation(instance: instance, schema: schema, keyword: Violation.tooMuchWork, message: message)]
        }
        return Array(validator.violations.prefix(maximumViolations))
    }

    // MARK: Applying

    /// Whether a value satisfies a schema.
    mutating func check(_ value: JSONValue, _ id: SchemaNode.ID) -> Bool {
        guard effort > 0 else { return false }
        effort -= Self.effortOfSchema + value.weight
        let node = program.tables.nodes[id]
        switch node.verdict {
        case .anything: return true
        case .nothing: return refuse(at: id, nil, "false", "no value is allowed here")
        case .rules: break
        }
        guard program.hasDynamicReferences, scope.last != node.resource else { return checkNode(value, node, id) }
        scope.append(node.resource)
        defer { scope.removeLast() }
        return checkNode(value, node, id)
    }

    private mutating func checkNode(_ value: JSONValue, _ node: SchemaNode, _ id: SchemaNode.ID) -> Bool {
        guard node.wantsEvaluated else { return checkRules(value, node, id) }
        // It sees the marks of the schemas inside it, not those of the schemas around it. They see its marks.
        let outer = evaluated
        evaluated = EvaluatedMarks()
        let isValid = checkRules(value, node, id)
        if var outer, let inner = evaluated {
            if isValid { outer.formUnion(inner) }
            evaluated = outer
        } else {
            evaluated = nil
        }
        return isValid
    }

    private mutating func checkRules(_ value: JSONValue, _ node: SchemaNode, _ id: SchemaNode.ID) -> Bool {
        var isValid = true
        for index in node.rules {
            let rule = program.tables.rules[index]
            // A failed rule leaves no marks, so every part would count as unevaluated.
            if !isValid, rule.readsMarks { continue }
            if !check(value, rule, id) {
                isValid = false
                if isDone { return false }
            }
        }
        return isValid
    }

    /// Whether a value satisfies a schema; records nothing.
    mutating func probe(_ value: JSONValue, _ id: SchemaNode.ID) -> Bool {
        let wasCollecting = isCollecting
        isCollecting = false
        defer { isCollecting = wasCollecting }
        return check(value, id)
    }

    /// The same for a schema that may fail without harm. A failed schema leaves no marks.
    mutating func attempt(_ value: JSONValue, _ id: SchemaNode.ID) -> Bool {
        let before = evaluated
        let isValid = probe(value, id)
        if !isValid { evaluated = before }
        return isValid
    }

    /// Returns the violations of a value without recording them.
    mutating func findings(_ value: JSONValue, _ id: SchemaNode.ID) -> [Violation] {
        let (before, marks) = (violations, evaluated)
        violations = []
        defer { (violations, evaluated) = (before, marks) }
        _ = check(value, id)
        return violations
    }

    // MARK: Parts of the value

    /// Whether a member satisfies a schema.
    mutating func check(_ member: JSONValue, at key: String, _ id: SchemaNode.ID) -> Bool {
        if !isCollecting, evaluated == nil { return check(member, id) }
        let outer = evaluated
        evaluated = nil
        defer { evaluated = outer }
        guard isCollecting else { return check(member, id) }
        path.append(.member(key))
        defer { path.removeLast() }
        return check(member, id)
    }

    /// Whether an item satisfies a schema.
    mutating func check(_ item: JSONValue, at index: Int, _ id: SchemaNode.ID) -> Bool {
        if !isCollecting, evaluated == nil { return check(item, id) }
        let outer = evaluated
        evaluated = nil
        defer { evaluated = outer }
        guard isCollecting else { return check(item, id) }
        path.append(.item(index))
        defer { path.removeLast() }
        return check(item, id)
    }

    /// Whether a part of the value satisfies a schema; records nothing.
    mutating func probe(part: JSONValue, _ id: SchemaNode.ID) -> Bool {
        let outer = evaluated
        evaluated = nil
        defer { evaluated = outer }
        return probe(part, id)
    }

    // MARK: Tables

    /// Whether a pattern occurs in a text.
    mutating func finds(_ pattern: Int, in text: String) -> Bool {
        matcher.finds(program.tables.patterns[pattern], in: text, effort: &effort)
    }

    /// The target of a dynamic reference on the current path.
    mutating func target(of reference: DynamicReference) -> SchemaNode.ID {
        effort -= scope.count
        for resource in scope {
            if let target = reference.targets[resource] { return target }
        }
        return reference.fallback
    }

    // MARK: Recording

    /// Whether to stop. When probing, one violation is enough; otherwise the record and the effort are bounded.
    var isDone: Bool { !isCollecting || violations.count >= Self.maximumViolations || effort <= 0 }

    /// The current location in the value.
    var instance: JSONPointer {
        JSONPointer(
            tokens: path.map { step in
                switch step {
                case .member(let key): key
                case .item(let index): String(index)
                }
            }
        )
    }

    /// Records a violation of a keyword of a schema; always false.
    mutating func refuse(_ id: SchemaNode.ID, _ keyword: String, _ message: @autoclosure () -> String) -> Bool {
        refuse(at: id, keyword, keyword, message())
    }

    private mutating func refuse(
        at id: SchemaNode.ID,
        _ step: String?,
        _ keyword: String,
        _ message: @autoclosure () -> String
    ) -> Bool {
        guard isCollecting else { return false }
        var place = program.tables.places[id]
        if let step { place = place.appending(step) }
        let violation = Violation(instance: instance, schema: place.pointer, keyword: keyword, message: message())
        violations.append(violation)
        return false
    }

    /// The same for a violation at which the phone's decoder also fails, if its type is known; always false.
    mutating func refuse(
        undecodable id: SchemaNode.ID,
        _ keyword: String,
        _ message: @autoclosure () -> String
    ) -> Bool {
        guard let type = program.tables.swiftTypes[id] else { return refuse(id, keyword, message()) }
        return refuse(id, keyword, "\(message()); the phone's `\(type)` cannot decode it")
    }

    /// Records a violation at a member of the current value; always false.
    mutating func refuse(
        member: String,
        _ id: SchemaNode.ID,
        _ keyword: String,
        _ message: @autoclosure () -> String
    ) -> Bool {
        guard isCollecting else { return false }
        path.append(.member(member))
        defer { path.removeLast() }
        return refuse(id, keyword, message())
    }

    /// Adds violations to the record.
    mutating func record(_ findings: [Violation]) { violations += findings }
}

extension JSONValue {
    /// The cost of reading the whole value, as equality and hashing do.
    var fullWeight: Int {
        switch self {
        case .null, .bool, .number, .string: Validator.effortOfSchema + weight
        case .array(let items): items.reduce(Validator.effortOfSchema) { $0 + $1.fullWeight }
        case .object(let object):
            object.entries.reduce(Validator.effortOfSchema) { $0 + $1.key.weight + $1.value.fullWeight }
        }
    }

    /// The extra cost of reading the value itself, above the base cost. Long texts and numbers are read completely.
    fileprivate var weight: Int {
        switch self {
        case .string(let text): text.weight
        case .number(let number): number.digits.weight
        case .null, .bool, .array, .object: 0
        }
    }
}

extension String {
    /// The extra cost of reading it, above the base cost of every value and name.
    var weight: Int { utf8.count >> 4 }
}
