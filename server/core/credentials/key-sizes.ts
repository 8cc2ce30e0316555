/** How many characters the texts of a key have at most, and how many entries its lists. */
export const KEY_SIZES = {
  name: 64,
  note: 500,
  tag: 32,
  tags: 10,
  endpoints: 100,
  models: 100,
  pinnedOperations: 40,
} as const
