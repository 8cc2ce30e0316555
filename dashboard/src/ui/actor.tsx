import { AUDIT_TEXT as TEXT } from '../messages/audit.ts'

/** The author of a change: members see each other's email addresses, operators also those of operators, or else their ids. */
export function Actor({ kind, id, email }: ActorProps) {
  const operator = id === 'console' ? TEXT.commandLine : (email ?? id)
  const who = kind === 'operator' ? operator : (email ?? null)
  return (
    <span className="grid">
      <span>{TEXT.actors[kind]}</span>
      {who !== null && <span className="small text-muted wrap-anywhere">{who}</span>}
    </span>
  )
}

type ActorProps = {
  kind: keyof typeof TEXT.actors
  id: string | null
  email?: string | null | undefined
}
