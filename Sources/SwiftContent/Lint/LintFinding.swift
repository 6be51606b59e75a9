package import JSON

/// A warning about a valid schema or content that will probably cause surprise. docs/reference/schemas.md lists the codes.
package struct LintFinding: Sendable, Hashable {
    /// Stable codes for programs.
    package enum Code: String, Sendable, CaseIterable {
        /// Every property of a type is required.
        case noOptionals = "no_optionals"
        /// A list of values that a later app version may need to extend.
        case closedEnum = "closed_enum"
        case unboundedString = "unbounded_string"
        case unboundedArray = "unbounded_array"
        case unboundedObject = "unbounded_object"
        /// The largest values of the two schemas together exceed the limit.
        case tooLarge = "too_large"
        /// A number that may have a fraction, although its name suggests a count.
        case floatForCount = "float_for_count"
        /// Integers above 2^53.
        case inexactInteger = "inexact_integer"
        /// A null that the caller cannot avoid by omitting the key.
        case unavoidableNull = "unavoidable_null"
        case snakeCase = "snake_case"
        case mixedCase = "mixed_case"
        /// A value that looks like a date, but without a declaration of how the phone decodes it.
        case dateWithoutType = "date_without_type"
        /// A value without any constraint.
        case unchecked
        /// In content: a null value.
        case nullValue = "null_value"
        /// In content: a key that the schema does not declare. The phone ignores it.
        case undeclaredKey = "undeclared_key"
    }

    package let code: Code
    /// A pointer into the schema or, for findings about content, into the content.
    package let pointer: JSONPointer
    /// The problem and what to do about it.
    package let message: String
}
