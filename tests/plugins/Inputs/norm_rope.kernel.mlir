// A head is as wide as the norm's weight; its halves are rotated by the frequencies. eps is 1e-6.
func.func @row(%x: memref<?xf32>, %w: memref<?xf32>, %f: memref<?xf32>, %position: i64, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %eps = arith.constant 1.0e-6 : f32
  %p = arith.sitofp %position : i64 to f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %width = memref.dim %w, %c0 : memref<?xf32>
  %half = memref.dim %f, %c0 : memref<?xf32>
  %count = arith.index_cast %width : index to i64
  %countf = arith.sitofp %count : i64 to f32
  scf.for %head = %c0 to %n step %width {
    %sum = scf.for %i = %c0 to %width step %c1 iter_args(%s = %zero) -> (f32) {
      %at = arith.addi %head, %i : index
      %v = memref.load %x[%at] : memref<?xf32>
      %vv = arith.mulf %v, %v : f32
      %next = arith.addf %s, %vv : f32
      scf.yield %next : f32
    }
    %mean = arith.divf %sum, %countf : f32
    %more = arith.addf %mean, %eps : f32
    %root = math.sqrt %more : f32
    %scale = arith.divf %one, %root : f32
    scf.for %i = %c0 to %half step %c1 {
      %j = arith.addi %i, %half : index
      %first = arith.addi %head, %i : index
      %second = arith.addi %head, %j : index
      %xa = memref.load %x[%first] : memref<?xf32>
      %xb = memref.load %x[%second] : memref<?xf32>
      %wa = memref.load %w[%i] : memref<?xf32>
      %wb = memref.load %w[%j] : memref<?xf32>
      %sa = arith.mulf %xa, %scale : f32
      %sb = arith.mulf %xb, %scale : f32
      %a = arith.mulf %sa, %wa : f32
      %b = arith.mulf %sb, %wb : f32
      %frequency = memref.load %f[%i] : memref<?xf32>
      %angle = arith.mulf %p, %frequency : f32
      %cos = math.cos %angle : f32
      %sin = math.sin %angle : f32
      %ac = arith.mulf %a, %cos : f32
      %bs = arith.mulf %b, %sin : f32
      %bc = arith.mulf %b, %cos : f32
      %as = arith.mulf %a, %sin : f32
      %ya = arith.subf %ac, %bs : f32
      %yb = arith.addf %bc, %as : f32
      memref.store %ya, %y[%first] : memref<?xf32>
      memref.store %yb, %y[%second] : memref<?xf32>
    }
  }
  return
}
