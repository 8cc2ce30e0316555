/** The range of one top-up, in USD. */
export const MIN_TOP_UP_USD = 1
export const MAX_TOP_UP_USD = 10_000
