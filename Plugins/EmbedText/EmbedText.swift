import Foundation
import PackagePlugin

/// Turns the files of a target's folder `Documents` into `enum Documents`, one string literal for each.
///
/// For long texts. `.embedInCode` makes an array of numbers of a file, and the compiler needs 40 s for half a megabyte
/// of them.
@main
struct EmbedText: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = target.directoryURL.appending(path: "Documents")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
        let output = context.pluginWorkDirectoryURL.appending(path: "Documents.swift")
        return [
            .buildCommand(
                displayName: "Embedding the documents of \(target.name)",
                executable: URL(filePath: "/bin/sh"),
                arguments: ["-ec", Self.script, "sh", output.path] + files.map(\.path),
                inputFiles: files.map { $0.resolvingSymlinksInPath() },
                outputFiles: [output]
            )
        ]
    }

    /// Writes the source file. `openapi.yaml` becomes `openapi_yaml`.
    private static let script = #####"""
        output=$1; shift
        {
            echo 'enum Documents {'
            for file; do
                name=$(basename "$file" | tr .- __)
                printf '    static let %s: StaticString = ####"""\n' "$name"
                cat "$file"
                printf '\n"""####\n'
            done
            echo '}'
        } >"$output"
        """#####
}
