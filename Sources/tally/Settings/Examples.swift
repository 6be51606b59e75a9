import ArgumentParser

extension CommandConfiguration {
    /// A command whose help ends with examples, one a line.
    init(
        commandName: String? = nil,
        abstract: String,
        discussion: String = "",
        examples first: String,
        _ others: String...
    ) {
        let shown = (["Examples:"] + ([first] + others).map { "  " + $0 }).joined(separator: "\n")
        self.init(
            commandName: commandName,
            abstract: abstract,
            discussion: discussion.isEmpty ? shown : discussion + "\n\n" + shown
        )
    }
}
