import type { ReactNode } from 'react'
import { SHELL_TEXT } from '../../messages/shell.ts'
import { useTitle } from './page.tsx'

/** The layout for signed-out visitors: one narrow column without navigation. */
export function AuthLayout({ title, children }: { title: string; children: ReactNode }) {
  useTitle(title)
  return (
    <main className="mx-auto grid w-full max-w-md content-start gap-6 px-4 py-12 sm:py-20">
      <p className="text-base font-semibold">{SHELL_TEXT.product}</p>
      <div className="grid gap-5 rounded-xl border border-line bg-surface p-4 sm:p-6">
        <h1>{title}</h1>
        {children}
      </div>
      <p className="small text-muted">
        <a href="/docs" className="text-accent">
          {SHELL_TEXT.help}
        </a>
      </p>
    </main>
  )
}
