import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { limitApp } from '../../api/apps.ts'
import { failureIn } from '../../api/failure.ts'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/states.tsx'
import { AccessList } from './access-list.tsx'
import { LimitField, limitTyped } from './limit-field.tsx'

/** What is asked for, the most it may spend, and yes or no. The limit stands before the access does. */
export function AppAnswer<T>({ clientId, scopes, limit, answer, onDone, children }: AppAnswerProps<T>) {
  const [typed, setTyped] = useState(String(limit ?? ''))
  const wanted = limitTyped(typed)
  const answering = useMutation({
    mutationFn: async (accept: boolean) => {
      if (accept && wanted !== 'wrong' && wanted !== limit) await limitApp(clientId, wanted)
      return answer(accept)
    },
    onSuccess: onDone,
  })
  return (
    <>
      <AccessList scopes={scopes} />
      {children}
      <LimitField value={typed} wrong={wanted === 'wrong'} onChange={setTyped} />
      <FormFailure failure={failureIn(answering)} />
      <div className="grid grid-cols-2 gap-2">
        <Button disabled={answering.isPending} onClick={() => answering.mutate(false)}>
          {TEXT.deny}
        </Button>
        <Button tone="primary" busy={answering.isPending || wanted === 'wrong'} onClick={() => answering.mutate(true)}>
          {TEXT.allow}
        </Button>
      </div>
    </>
  )
}

type AppAnswerProps<T> = {
  clientId: string
  scopes: readonly string[]
  /** The limit that is there already. */
  limit: number | null
  answer: (accept: boolean) => Promise<T>
  onDone: (answered: T) => void
  children?: ReactNode
}
