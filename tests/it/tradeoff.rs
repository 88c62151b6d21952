//! The comparison of methods on the bundled sample: every class is measured from its rows.

use kindred::reproduce::{Method, compare, sample};

#[test]
fn every_method_keeps_k_and_the_tables_say_what_each_is_good_at() {
    assert_eq!(sample(usize::MAX).expect("the sample").table.rows, 3_000);
    // All of it takes minutes in this build.
    let source = sample(500).expect("the beginning of the sample");
    assert_eq!(source.table.rows, 500);
    let found = compare(&source, 5, 1).expect("a comparison");
    let line = |method: Method| {
        let mut lines = found.lines.iter();
        lines
            .find(|line| line.method == method)
            .expect("every method")
    };
    let raw = line(Method::Raw);
    assert!(raw.loss.abs() < 1e-12 && raw.smallest == 1 && raw.homogeneity > 0.5);
    for method in Method::ALL {
        let line = line(method);
        assert!((0.0..=1.0).contains(&line.loss) && (0.0..=1.0).contains(&line.homogeneity));
        assert!(line.kept >= 0.95, "{}", method.name());
        assert!(
            method == Method::Raw || line.smallest >= 5,
            "{}",
            method.name()
        );
        let auc = |kind: usize| line.learnt[kind].auc.expect("two classes").mean;
        assert!(auc(0) > 0.4 && auc(1) > 0.4, "{}", method.name());
    }
    // Clusters lose less than one level for everybody; a greater weight of the entropy never makes more classes alike.
    assert!(line(Method::Mdav).loss < line(Method::FullDomain).loss);
    assert!(line(Method::FullDomain).loss <= line(Method::Datafly).loss);
    assert!(line(Method::MoObam(5.0)).homogeneity <= line(Method::MoObam(0.1)).homogeneity);
    assert!((found.majority.auc.expect("two classes").mean - 0.5).abs() < 1e-9);
}
