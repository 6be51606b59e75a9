/// The statements that write `start_tokens`, for the rooms above.
package enum StartTokenRows {}
