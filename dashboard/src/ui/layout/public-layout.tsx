import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CATALOG_TEXT as TEXT } from '../../messages/catalog.ts'
import { SHELL_TEXT } from '../../messages/shell.ts'
import { buttonClass } from '../button.tsx'

/** The layout of a public page for visitors who are not signed in. */
export function PublicLayout({ children }: { children: ReactNode }) {
  return (
    <div className="mx-auto max-w-5xl">
      <header className="flex flex-wrap items-center justify-between gap-3 border-b border-line px-4 py-3">
        <Link to="/catalogue" search={{}} className="text-base font-semibold no-underline">
          {SHELL_TEXT.product}
        </Link>
        <nav aria-label={SHELL_TEXT.pages} className="flex flex-wrap items-center gap-2">
          <a href="/docs" className={buttonClass('quiet')}>
            {SHELL_TEXT.help}
          </a>
          <Link to="/sign-in" search={{}} className={buttonClass('quiet')}>
            {TEXT.signIn}
          </Link>
          <Link to="/sign-up" className={buttonClass()}>
            {TEXT.signUp}
          </Link>
        </nav>
      </header>
      <main id="main" tabIndex={-1} className="grid min-w-0 grid-cols-1 content-start gap-6 px-4 py-8">
        {children}
      </main>
    </div>
  )
}
