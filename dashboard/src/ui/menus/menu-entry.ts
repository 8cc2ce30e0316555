/** A line of a menu: words, something to do, or a choice that holds or not. */
export type MenuEntry =
  | { readonly kind: 'note'; readonly label: string }
  | { readonly kind: 'action'; readonly label: string; readonly danger?: boolean; readonly onSelect: () => void }
  | { readonly kind: 'choice'; readonly label: string; readonly chosen: boolean; readonly onSelect: () => void }
