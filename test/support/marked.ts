/** The same members, and in none of them what usually stands there, nor the same twice: what is lost or mixed up on the way shows. */
export const marked = <Shape extends object>(shape: Shape): Shape =>
  Object.fromEntries(Object.entries(shape).map(([name, value]) => [name, typeof value === 'boolean' ? !value : `its ${name}`])) as Shape;
