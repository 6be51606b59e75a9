internal import SwiftSyntax

/// Evaluates `#if` conditions as in a build of the app for iPhones.
struct ConditionalCompilation {
    private static let maximumDepth = 32
    private static let modules: Set<String> = [
        "ActivityKit", "CoreGraphics", "Foundation", "Swift", "SwiftUI", "UIKit", "WidgetKit",
    ]

    /// Whether a condition is true; `nil` if it depends on something unknown.
    static func holds(_ condition: ExprSyntax, depth: Int = 0) -> Bool? {
        guard depth < maximumDepth else { return nil }
        if let literal = condition.as(BooleanLiteralExprSyntax.self) { return literal.literal.text == "true" }
        if let negation = condition.as(PrefixOperatorExprSyntax.self), negation.operator.text == "!" {
            return holds(negation.expression, depth: depth + 1).map(!)
        }
        if let tuple = condition.as(TupleExprSyntax.self), tuple.elements.count == 1, let inner = tuple.elements.first {
            return holds(inner.expression, depth: depth + 1)
        }
        if let sequence = condition.as(SequenceExprSyntax.self) {
            return holds(Array(sequence.elements), depth: depth + 1)
        }
        return condition.as(FunctionCallExprSyntax.self).flatMap(platform)
    }

    /// `a && b || c && d`: true if one term is true, false if all are false.
    private static func holds(_ elements: [ExprSyntax], depth: Int) -> Bool? {
        var terms: [[Bool?]] = [[]]
        for (index, element) in elements.enumerated() {
            if index % 2 == 0 {
                terms[terms.count - 1].append(holds(element, depth: depth))
            } else {
                switch element.as(BinaryOperatorExprSyntax.self)?.operator.text {
                case "&&": break
                case "||": terms.append([])
                default: return nil
                }
            }
        }
        let verdicts = terms.map { factors -> Bool? in
            factors.contains(false) ? false : factors.contains(nil) ? nil : true
        }
        return verdicts.contains(true) ? true : verdicts.contains(nil) ? nil : false
    }

    private static func platform(_ call: FunctionCallExprSyntax) -> Bool? {
        guard let name = call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text,
            call.arguments.count == 1,
            let argument = call.arguments.first?.expression.as(DeclReferenceExprSyntax.self)?.baseName.text
        else { return nil }
        switch name {
        case "os": return argument == "iOS"
        case "canImport": return modules.contains(argument) ? true : nil
        case "targetEnvironment": return argument == "simulator" || argument == "macCatalyst" ? false : nil
        default: return nil
        }
    }
}
