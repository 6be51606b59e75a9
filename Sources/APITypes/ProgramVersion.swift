/// The version of Tally that the programs are built from. The changelog starts with it.
package enum ProgramVersion {
    /// Shown by `tallyd --version`, the metric `tally_build_info`, the log and the doctor's report.
    package static let current = "0.1.0"
}
