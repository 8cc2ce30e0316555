/** An entry of a menu: text, an action, or a checkable choice. */
export type MenuEntry =
  | { readonly kind: 'note'; readonly label: string }
  | { readonly kind: 'action'; readonly label: string; readonly danger?: boolean; readonly onSelect: () => void }
  | { readonly kind: 'choice'; readonly label: string; readonly chosen: boolean; readonly onSelect: () => void }
