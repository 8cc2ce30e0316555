import { Check } from 'lucide-react'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'

/** What an app would be able to do, in words. Text only: nothing an app says of itself is a link or a picture. */
export function AccessList({ scopes }: { scopes: readonly string[] }) {
  return (
    <div className="grid gap-2">
      <p className="font-medium">{TEXT.may}</p>
      <ul className="grid gap-2">
        {scopes.map((scope) => (
          <li key={scope} className="flex items-start gap-2">
            <Check size={16} aria-hidden className="mt-0.5 shrink-0 text-muted" />
            <span>{TEXT.scopes[scope] ?? scope}</span>
          </li>
        ))}
      </ul>
      <p className="text-muted">{TEXT.spends}</p>
    </div>
  )
}
