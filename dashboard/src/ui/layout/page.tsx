import { type ReactNode, useEffect } from 'react'
import { SHELL_TEXT } from '../../messages/shell.ts'

/** Sets the title of the window, which is announced after navigation. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${SHELL_TEXT.product}`
  }, [title])
}

/** A page inside the shell: its heading, its actions on the right, then its sections. */
export function Page({ title, lead, actions, children }: PageProps) {
  useTitle(title)
  return (
    <div className="grid min-w-0 grid-cols-1 gap-6">
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="grid min-w-0 flex-1 basis-56 gap-1">
          <h1 className="wrap-anywhere">{title}</h1>
          {lead && <div className="max-w-3xl text-muted">{lead}</div>}
        </div>
        {actions && <div className="flex max-w-full min-w-0 flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

type PageProps = { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }
