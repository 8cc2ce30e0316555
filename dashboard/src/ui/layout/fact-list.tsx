import type { ReactNode } from 'react'

export type Facts = readonly (readonly [name: string, value: ReactNode])[]

/** Names and values, one pair per line. */
export function FactList({ facts }: { facts: Facts }) {
  return (
    <dl className="grid gap-3">
      {facts.map(([name, value]) => (
        <div key={name} className="grid gap-x-4 sm:grid-cols-[12rem_minmax(0,1fr)]">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A fact that not every request has. */
export function optionalFact(name: string, value: string | null): Facts {
  return value ? [[name, <Words key={name} text={value} />]] : []
}

function Words({ text }: { text: string }) {
  return <span className="wrap-anywhere">{text}</span>
}
