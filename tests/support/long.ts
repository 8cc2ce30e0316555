/** `bun run long` runs what takes minutes, every night; `verify` does without. */
export const IS_LONG = process.env['LONG'] === '1'
