/// The version of Tally that the programs are built from; the changelog begins with it.
package enum ProgramVersion {
    /// As in `tallyd --version`, the metric `tally_build_info`, the log and the doctor's report.
    package static let current = "0.1.0"
}
