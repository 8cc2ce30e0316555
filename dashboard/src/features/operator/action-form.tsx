import type { UseMutationResult } from '@tanstack/react-query'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { failureFrom } from '../../api/client/failure.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'

/** The parsed input, or the error of each invalid field by name. */
export type FormResult<T> = { readonly values: T } | { readonly wrong: Readonly<Record<string, string>> }

/** A dialog with the form of one action. `read` validates the input; the first invalid field gets the focus. */
export function ActionForm<T>({ title, action, read, onClose, children }: ActionFormProps<T>) {
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  // A ref instead of the mutation's state, because a second click can come before the next render.
  const sending = useRef(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const result = read(new FormData(form))
    setErrors('wrong' in result ? result.wrong : {})
    if (!('wrong' in result)) {
      if (sending.current) return
      sending.current = true
      action.mutate(result.values, { onSettled: () => (sending.current = false) })
      return
    }
    const [first] = Object.keys(result.wrong)
    form.querySelector<HTMLElement>(`[name="${first}"]`)?.focus()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form noValidate onSubmit={submit} className="grid gap-4">
        {children(errors)}
        <FormFailure failure={failureFrom(action)} />
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button type="submit" tone="primary" busy={action.isPending}>
            {title}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

type ActionFormProps<T> = {
  /** Also the label of the button. */
  title: string
  action: UseMutationResult<unknown, Error, T>
  read: (form: FormData) => FormResult<T>
  onClose: () => void
  children: (errors: Readonly<Record<string, string>>) => ReactNode
}

export function fieldText(form: FormData, name: string): string {
  return String(form.get(name) ?? '').trim()
}

/** Whether a text is an amount of USD, with at most six decimals; 0 is one. */
export function isUsd(text: string): boolean {
  return /^\d{1,7}(\.\d{1,6})?$/.test(text)
}

/** Runs an operator's change: shows a toast, refreshes the page, and closes the dialog. */
export function useOperatorAction<T>(
  act: (values: T) => Promise<unknown>,
  done: string | ((values: T) => string),
  onDone: (values: T) => void,
) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: act,
    onSuccess: (_answer, values) => {
      void toast(typeof done === 'string' ? done : done(values))
      onDone(values)
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['operator'] }),
  })
}
