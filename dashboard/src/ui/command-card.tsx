import { type ReactNode, useId, useRef } from 'react'
import { CopyButton } from './copy-button.tsx'

/** A command to read and copy, under a heading, with what there is to know of it as children. */
export function CommandCard({ title, command, children }: CommandCardProps) {
  const heading = useId()
  const code = useRef<HTMLElement>(null)
  return (
    <section className="card" aria-labelledby={heading}>
      <div className="card-head">
        <h2 id={heading}>{title}</h2>
        <CopyButton label={`Copy the command: ${title}`} text={command} shownIn={code} />
      </div>
      <p>{children}</p>
      <pre className="command">
        <code ref={code}>{command}</code>
      </pre>
    </section>
  )
}

type CommandCardProps = { title: string; command: string; children: ReactNode }
