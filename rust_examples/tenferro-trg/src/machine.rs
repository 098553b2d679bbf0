//! An engine and what it takes to run programs on it.

use std::error::Error;
use std::sync::Arc;

use tenferro_ad::AdContext;
use tenferro_cpu::{CpuEngine, Pool};
use tenferro_runtime::ad_support::{RetainedValue, inputs_map};
use tenferro_runtime::{ExecutionEngine, GraphCompiler, Prepared, Runtime, Tensor, TensorRead, TracedTensor};

/// What everything here returns; the errors of tenferro's crates have little in common.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A CPU engine of fixed width, with the runtime, the compiler and the derivative rules of SVD and einsum.
pub struct Machine {
    engine: CpuEngine,
    runtime: Runtime,
    compiler: GraphCompiler,
    rules: AdContext,
}

/// A graph that is ready to run on the machine that prepared it.
#[derive(Debug)]
pub struct Program {
    prepared: Prepared,
    inputs: Vec<Input>,
    /// Operations in the compiled graph.
    pub ops: usize,
}

/// Where a program's input comes from.
#[derive(Debug)]
enum Input {
    /// The caller's input of that number.
    Given(usize),
    /// A constant of the graph, such as the 1 from which a gradient starts.
    Constant(Arc<RetainedValue>),
}

impl Program {
    fn reads<'a>(&'a self, given: &[&'a Tensor]) -> Result<Vec<TensorRead<'a>>> {
        let read = |input: &'a Input| match input {
            Input::Given(at) => Ok(TensorRead::from_tensor(given[*at])),
            Input::Constant(value) => Ok(value.tensor_read()?),
        };
        self.inputs.iter().map(read).collect()
    }
}

impl Machine {
    /// An engine that computes on `width` threads; on one it needs no pool.
    ///
    /// # Errors
    ///
    /// The pool of threads cannot be made, or the runtime refuses a module.
    pub fn new(width: usize) -> Result<Self> {
        // --8<-- [start:engine]
        let engine = match width {
            1 => CpuEngine::serial(),
            _ => CpuEngine::new(Pool::builder().threads(width).build()?),
        };
        // --8<-- [end:engine]
        let mut builder = Runtime::builder();
        builder.register_engine(tenferro_cpu::runtime_engine_registration(&engine)?)?;
        let id = tenferro_cpu::runtime_engine_id()?;
        builder.install_extension_module(tenferro_linalg::extension_module::<CpuEngine>(id)?)?;
        let rules = AdContext::builder().with_semantic_extension_rules(tenferro_linalg::semantic_ad_rules()?)?.build()?;
        Ok(Self { runtime: builder.build()?, compiler: GraphCompiler::new(), rules, engine })
    }

    /// Threads that the engine says it has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.engine.num_threads()
    }

    /// Derivative of a scalar with respect to one of its inputs, as a graph.
    ///
    /// # Errors
    ///
    /// The output is no scalar, does not depend on the input, or contains an operation without a rule.
    pub fn grad(&self, output: &TracedTensor, input: &TracedTensor) -> Result<TracedTensor> {
        Ok(self.rules.grad(output, input)?)
    }

    /// Compile a graph and prepare it for this engine. `inputs` come in the order in which `run` gets them.
    ///
    /// # Errors
    ///
    /// The graph does not depend on an input, or the engine cannot run an operation.
    pub fn prepare(&mut self, inputs: &[&TracedTensor], outputs: &[&TracedTensor]) -> Result<Program> {
        let graph = self.compiler.compile_many(outputs)?;
        let constants: Vec<_> = outputs.iter().map(|output| inputs_map(output)).collect();
        let source = |key| {
            let given = inputs.iter().position(|input| input.input_key().as_ref() == Some(key)).map(Input::Given);
            given.or_else(|| constants.iter().find_map(|map| map.get(key)).cloned().map(Input::Constant))
        };
        let sources = graph.input_keys().iter().map(source).collect::<Option<Vec<_>>>().ok_or("an input has no value")?;
        let used = sources.iter().filter(|source| matches!(source, Input::Given(_))).count();
        if used != inputs.len() {
            return Err(format!("the graph uses {used} of {} inputs", inputs.len()).into());
        }
        // What an input was made with is of the right shape, and serves as an example.
        let prepared = self.runtime.prepare(&graph, &[], &[self.engine.target()])?;
        Ok(Program { prepared, inputs: sources, ops: graph.program().operations().count() })
    }

    /// Run a program and read its outputs back.
    ///
    /// # Errors
    ///
    /// An input has another shape than the placeholder, or a kernel fails.
    pub fn run(&mut self, program: &Program, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        // --8<-- [start:run]
        let reads = program.reads(inputs)?;
        let outputs = self.runtime.run(&mut [&mut self.engine], &program.prepared, &reads)?;
        outputs.into_iter().map(|output| Ok(output.into_tensor(&mut self.engine)?)).collect()
        // --8<-- [end:run]
    }
}
