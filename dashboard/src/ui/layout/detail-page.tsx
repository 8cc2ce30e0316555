import type { ReactNode } from 'react'
import type { ApiFailure } from '../../api/client/failure.ts'
import { UI_TEXT as TEXT } from '../../messages/ui.ts'
import { Button } from '../button.tsx'
import { Failed } from '../feedback/failure.tsx'
import { Loading } from '../feedback/states.tsx'
import { Card } from './card.tsx'
import { Page } from './page.tsx'

/** A page about one thing: the way back to its list, then the page; while it is not loaded, its name and why. */
export function DetailPage<T>({ back, title, data, failure, onRetry, children }: DetailPageProps<T>) {
  return (
    <div className="grid min-w-0 grid-cols-1 gap-4">
      {back}
      {data === undefined ? (
        <Page title={title}>{failure ? <Failed failure={failure} onRetry={onRetry} /> : <Loading rows={6} />}</Page>
      ) : (
        children(data)
      )}
    </div>
  )
}

type DetailPageProps<T> = {
  back: ReactNode
  /** The title until the thing is loaded. */
  title: string
  data: T | undefined
  failure: ApiFailure | null
  onRetry: () => void
  children: (data: T) => ReactNode
}

/** The last section of a page about one thing: what cannot be undone. Each action asks before it happens. */
export function DangerZone({ actions }: { actions: readonly DangerAction[] }) {
  if (actions.length === 0) return null
  return (
    <Card title={TEXT.dangerZone}>
      {actions.map(({ label, text, onSelect }) => (
        <div key={label} className="flex flex-wrap items-center justify-between gap-3">
          <p className="min-w-0 flex-1 basis-64 text-muted">{text}</p>
          <Button tone="warning" onClick={onSelect}>
            {label}
          </Button>
        </div>
      ))}
    </Card>
  )
}

type DangerAction = { readonly label: string; readonly text: string; readonly onSelect: () => void }
