import type { ReactNode } from 'react'

/** A name that somebody chose, of up to 64 characters: cut off where it does not fit, whole on hover. */
export function Name({ children, wide = false }: { children: string; wide?: boolean }): ReactNode {
  return (
    <span title={children} className={`block truncate ${wide ? '' : 'max-w-48 min-w-20'}`}>
      {children}
    </span>
  )
}
