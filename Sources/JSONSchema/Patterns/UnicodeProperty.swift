/// A property that `\p{…}` can test: a general category, or one of a few binary properties.
indirect enum UnicodeProperty: Sendable {
    case any
    case ascii
    case assigned
    case category(Set<Unicode.GeneralCategory>)
    case alphabetic, uppercase, lowercase, whiteSpace, emoji, identifierStart, identifierContinue
    /// The complement of that set: `\P{…}` within brackets.
    case outside(ScalarSet)

    /// The property of that name, as in `\p{Letter}`, `\p{L}` or `\p{gc=L}`; `nil` for an unknown name.
    init?(name: String) {
        let parts = name.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
        if parts.count == 2, ["General_Category", "gc"].contains(parts[0]), let categories = Self.categories[parts[1]] {
            self = .category(categories)
        } else if parts.count == 1, let categories = Self.categories[name] {
            self = .category(categories)
        } else if parts.count == 1, let property = Self.binary[name] {
            self = property
        } else {
            return nil
        }
    }

    func holds(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return switch self {
        case .any: true
        case .ascii: scalar.isASCII
        case .assigned: properties.generalCategory != .unassigned
        case .category(let categories): categories.contains(properties.generalCategory)
        case .alphabetic: properties.isAlphabetic
        case .uppercase: properties.isUppercase
        case .lowercase: properties.isLowercase
        case .whiteSpace: properties.isWhitespace
        case .emoji: properties.isEmoji
        case .identifierStart: properties.isIDStart
        case .identifierContinue: properties.isIDContinue
        case .outside(let set): set.contains(scalar)
        }
    }

    private static let binary: [String: UnicodeProperty] = [
        "Any": .any, "ASCII": .ascii, "Assigned": .assigned, "Alphabetic": .alphabetic, "Alpha": .alphabetic,
        "Uppercase": .uppercase, "Upper": .uppercase, "Lowercase": .lowercase, "Lower": .lowercase,
        "White_Space": .whiteSpace, "space": .whiteSpace, "Emoji": .emoji, "ID_Start": .identifierStart,
        "IDS": .identifierStart, "ID_Continue": .identifierContinue, "IDC": .identifierContinue,
    ]

    /// The names of PropertyValueAliases.txt for gc.
    private static let categories: [String: Set<Unicode.GeneralCategory>] = {
        let single: [(short: String, long: String, category: Unicode.GeneralCategory)] = [
            ("Lu", "Uppercase_Letter", .uppercaseLetter), ("Ll", "Lowercase_Letter", .lowercaseLetter),
            ("Lt", "Titlecase_Letter", .titlecaseLetter), ("Lm", "Modifier_Letter", .modifierLetter),
            ("Lo", "Other_Letter", .otherLetter), ("Mn", "Nonspacing_Mark", .nonspacingMark),
            ("Mc", "Spacing_Mark", .spacingMark), ("Me", "Enclosing_Mark", .enclosingMark),
            ("Nd", "Decimal_Number", .decimalNumber), ("Nl", "Letter_Number", .letterNumber),
            ("No", "Other_Number", .otherNumber), ("Pc", "Connector_Punctuation", .connectorPunctuation),
            ("Pd", "Dash_Punctuation", .dashPunctuation), ("Ps", "Open_Punctuation", .openPunctuation),
            ("Pe", "Close_Punctuation", .closePunctuation), ("Pi", "Initial_Punctuation", .initialPunctuation),
            ("Pf", "Final_Punctuation", .finalPunctuation), ("Po", "Other_Punctuation", .otherPunctuation),
            ("Sm", "Math_Symbol", .mathSymbol), ("Sc", "Currency_Symbol", .currencySymbol),
            ("Sk", "Modifier_Symbol", .modifierSymbol), ("So", "Other_Symbol", .otherSymbol),
            ("Zs", "Space_Separator", .spaceSeparator), ("Zl", "Line_Separator", .lineSeparator),
            ("Zp", "Paragraph_Separator", .paragraphSeparator), ("Cc", "Control", .control), ("Cf", "Format", .format),
            ("Cs", "Surrogate", .surrogate), ("Co", "Private_Use", .privateUse), ("Cn", "Unassigned", .unassigned),
        ]
        let groups: [(letter: Character, names: [String])] = [
            ("L", ["L", "Letter"]), ("M", ["M", "Mark", "Combining_Mark"]), ("N", ["N", "Number"]),
            ("P", ["P", "Punctuation", "punct"]), ("S", ["S", "Symbol"]), ("Z", ["Z", "Separator"]),
            ("C", ["C", "Other"]),
        ]
        var categories: [String: Set<Unicode.GeneralCategory>] = [
            "LC": [.uppercaseLetter, .lowercaseLetter, .titlecaseLetter],
            "Cased_Letter": [.uppercaseLetter, .lowercaseLetter, .titlecaseLetter],
            "digit": [.decimalNumber], "cntrl": [.control],
        ]
        for (short, long, category) in single {
            categories[short] = [category]
            categories[long] = [category]
        }
        for (letter, names) in groups {
            let members = Set(single.filter { $0.short.first == letter }.map(\.category))
            for name in names { categories[name] = members }
        }
        return categories
    }()
}
