internal import SwiftContent
internal import SwiftSyntax

/// A case of an enum.
struct EnumCase {
    struct Parameter {
        /// The key of an associated value: its label, or `_0`, `_1`, … by position.
        let key: String
        let type: TypeExpression
        let hasDefault: Bool
    }

    let name: String
    let parameters: [Parameter]
    let rawValue: ExprSyntax?
    let place: SourcePlace

    /// The cases of an enum, in order.
    static func all(of declaration: Declaration) -> [EnumCase] {
        declaration.ownMembers.flatMap { member in
            guard let cases = member.declaration.as(EnumCaseDeclSyntax.self) else { return [EnumCase]() }
            return cases.elements.map { EnumCase($0, in: member.file) }
        }
    }

    private init(_ element: EnumCaseElementSyntax, in file: SourceFile) {
        name = element.name.plainText
        rawValue = element.rawValue?.value
        place = file.place(of: element)
        let list = element.parameterClause.map { Array($0.parameters) } ?? []
        parameters = list.enumerated().map { position, parameter in
            let label = parameter.firstName?.plainText
            return Parameter(
                key: label == nil || label == "_" ? "_\(position)" : label ?? "",
                type: TypeExpression(parameter.type, in: file),
                hasDefault: parameter.defaultValue != nil
            )
        }
    }
}
